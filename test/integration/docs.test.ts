// The documents beside the code: the reference is what the program's tables say, links lead somewhere, each package has its reason.

import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";

const project = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(project, path), "utf8");

function skiff(...args: string[]): Promise<{ stdout: string }> {
  const runtime = process.versions["deno"] ? ["run", "-A", "--quiet"] : ["--disable-warning=ExperimentalWarning"];
  return promisify(execFile)(process.execPath, [...runtime, "skiff.ts", ...args], { cwd: project });
}

t.test("docs/reference.md is what `skiff reference` prints", async (t) => {
  const { stdout } = await skiff("reference");
  t.equal(read("docs/reference.md"), stdout, "to bring it up to date: node skiff.ts reference > docs/reference.md");
});

t.test("`skiff up --help` tells every setting, and what it may be", async (t) => {
  const { stdout } = await skiff("up", "--help");
  const rows = [...read("docs/reference.md").matchAll(/^\| `(?:-\w, )?(?:--)?([\w-]+)[^|]*\| [^|]* \| ✓ \|.*$/gm)];
  t.ok(rows.length > 60, `${rows.length} settings`);
  for (const [, name = ""] of rows) t.match(stdout, new RegExp(`^  (--${name}[ ,]|${name}: )`, "m"), name);
  t.match(stdout, /--cpu-manager-policy .*\(none, static\) \(default: none\)/);
  t.notMatch(stdout, /\(default: \)/);
});

t.test("links between documents lead to files and headings that are there", async (t) => {
  const pages = globSync(["*.md", "docs/*.md", "release/*.md"], { cwd: project });
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .trim()
      .replaceAll(" ", "-");
  for (const page of pages) {
    for (const [, target = ""] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = "", fragment] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      t.ok(existsSync(join(project, file)), `${page}: ${target}`);
      if (!fragment) continue;
      const headings = [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchor(heading));
      t.ok(headings.includes(fragment), `${page}: ${target}`);
    }
  }
});

t.test("each package has its reason in docs/dependencies.md", async (t) => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read("package.json")) as Record<
    string,
    Record<string, string>
  >;
  const text = read("docs/dependencies.md");
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  t.same(
    names.filter((name) => !name.startsWith("@types/") && !text.includes(`\`${name}\``)),
    [],
  );
});
