// Which room may import which. Each rule carries its reason; a new folder without a rule fails, so that someone decides.

import { readFileSync } from "node:fs";
import t from "tap";
import { importsOf } from "../harness/imports.ts";
import { sourceFiles } from "../harness/source-files.ts";

interface Rule {
  /** Files the rule speaks of; the first that matches a file decides. */
  from: RegExp;
  may: RegExp[];
  because: string;
}

/** Not its front door, which is for the authors of plugins alone. */
const kit = /^plugins\/kit\/(?!mod\.ts$)/;

/** The folder that a path lies in, `depth` names deep, as a pattern for its own files. */
const rules: Rule[] = [
  {
    from: /^(test\/|.*\.test\.ts$)/,
    may: [/./],
    because: "tests may look at everything",
  },
  {
    from: /^(skiff\.ts|[a-z]+\/assemble\/)/,
    may: [/./],
    because: "composition roots know what they compose",
  },
  { from: /^plugins\/builtins\.ts$/, may: [/^plugins\//], because: "it is the list of every built-in plugin" },
  {
    from: /^plugins\/kit\/mod\.ts$/,
    may: [kit],
    because: "it is the front door for the authors of plugins",
  },
  { from: kit, may: [kit], because: "the kit is the leaf that everyone may import, so it imports nobody" },
  {
    from: /^plugins\/([a-z-]+)\//,
    may: [kit, /^plugins\/$1\//, /^cri\/api\//],
    because: "a plugin kind knows its contract and the runtime's messages, never its hosts or the other kinds",
  },
  { from: /^cri\/api\//, may: [kit, /^cri\/api\//], because: "the contract knows no implementation" },
  {
    from: /^cri\/stream\//,
    may: [kit, /^cri\/(api|stream)\//],
    because: "sessions are shared by rooms that may not know each other",
  },
  { from: /^cni\/spec\//, may: [kit, /^cni\/spec\//], because: "the contract knows no implementation" },
  {
    from: /^cri\/([a-z]+)\//,
    may: [kit, /^cri\/(api|stream|$1)\//, /^cni\/(spec|invoke)\//],
    because: "a runtime stands alone: it can be taken out or run behind a socket",
  },
  {
    from: /^cni\/(skel|net)\//,
    may: [kit, /^cni\/(spec|skel|net)\//],
    because: "the frame and the kernel seam serve every program and know none",
  },
  {
    from: /^cni\/invoke\//,
    may: [kit, /^cni\//],
    because: "it runs our programs in process",
  },
  {
    from: /^cni\/([a-z-]+)\//,
    may: [kit, /^cni\/(spec|skel|net|$1)\//],
    because: "a CNI program is one small program of its own",
  },
  {
    from: /^docs\/examples\//,
    may: [/^plugins\/kit\/mod\.ts$/, /^cri\//],
    because: "an example shows what a user's plugin may import: the kit's front door, and runtimes to wrap",
  },
  {
    from: /^release\//,
    may: [/^release\//],
    because: "what makes the archives runs before and beside the program, never in it",
  },
  {
    from: /^agent\//,
    may: [kit, /^cri\/(api|stream)\//, /^agent\//],
    because: "the kubelet meets runtimes, plugins and the API server only through their contracts",
  },
  {
    from: /^control\//,
    may: [kit, /^cri\/stream\//, /^control\//],
    because: "the control plane meets nodes only over HTTP",
  },
];

function ruleFor(file: string): { rule: Rule; own: string } | undefined {
  for (const rule of rules) {
    const match = rule.from.exec(file);
    if (match) return { rule, own: match[1] ?? "" };
  }
  return undefined;
}

t.test("imports stay within what each room may touch", async (t) => {
  const wrong: string[] = [];
  for (const file of sourceFiles()) {
    const found = ruleFor(file);
    if (!found) {
      wrong.push(`${file}: no rule covers this folder; add one with its reason to test/lint/boundaries.test.ts`);
      continue;
    }
    const may = found.rule.may.map((pattern) => new RegExp(pattern.source.replaceAll("$1", found.own)));
    for (const { target } of importsOf(file)) {
      if (!may.some((pattern) => pattern.test(target))) wrong.push(`${file} imports ${target}: ${found.rule.because}`);
    }
  }
  t.same(wrong, []);
});

t.test("only plugins/kit/os/platform names Deno", async (t) => {
  const wrong = sourceFiles()
    .filter((file) => !/^plugins\/kit\/os\/platform\/|^test\//.test(file))
    .filter((file) => /\bDeno\.|globalThis[^;]*\bDeno\b/.test(readFileSync(file, "utf8")));
  t.same(wrong, []);
});
