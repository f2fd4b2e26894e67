// Each page of docs/ as a new user would follow it: its code blocks, one after another, on a freshly booted Debian system without a
// network, where the release archive lies in root's home. What cannot be run there is named below, with the reason.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { type Arch, fillRelease, sha256 } from "../../release/contents.ts";
import { type BootedBox, bootBox } from "../harness/booted-box.ts";
import { type CodeBlock, codeBlocks } from "../harness/code-blocks.ts";
import { busyboxImage, imageArchive } from "../harness/images.ts";
import { until } from "../harness/until.ts";

const project = join(import.meta.dirname, "../..");
const docs = join(project, "docs");
const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { version: string };
const release = `skiff-${version}-linux-${process.arch}`;

/** Words behind ```sh that keep a block from being run here, and why. */
const notRun: Record<string, string> = {
  "another-machine": "it is for a machine with a network, or for a second box",
};

/** Pages that speak of a service that is there already; the others install it themselves, and take it away at their end. */
const needsService = [
  "service.md",
  "security.md",
  "troubleshooting.md",
  "joining-kubernetes.md",
  "writing-a-plugin.md",
];
const pages = ["quick-start-pc.md", "quick-start-raspberry-pi.md", "air-gapped.md", ...needsService];

/** What a page says for the reader's machine and release, in the words of this one. */
function here(text: string): string {
  return text.replaceAll(/skiff-\d+\.\d+\.\d+-linux-(x64|arm64)/g, release);
}

t.test("every page that has blocks to run is in the list", async (t) => {
  const others = readdirSync(docs).filter((name) => name.endsWith(".md") && !pages.includes(name));
  for (const name of others) {
    const runnable = codeBlocks(readFileSync(join(docs, name), "utf8")).filter(
      ({ language }) => language !== "mermaid",
    );
    t.same(runnable, [], name);
  }
});

t.test("no block is passed over for its language", async (t) => {
  const known = ["ts", "mermaid", ...Object.keys(runners)];
  for (const name of readdirSync(docs).filter((one) => one.endsWith(".md")))
    for (const { language, line } of codeBlocks(readFileSync(join(docs, name), "utf8")))
      t.ok(known.includes(language), `${name}:${line} is "${language}"`);
});

t.test("each block of TypeScript stands in one of the examples that the tests load", async (t) => {
  const examples = readdirSync(join(docs, "examples")).map((name) =>
    readFileSync(join(docs, "examples", name), "utf8"),
  );
  for (const name of pages) {
    for (const { language, text, line } of codeBlocks(readFileSync(join(docs, name), "utf8"))) {
      if (language !== "ts") continue;
      t.ok(
        examples.some((example) => example.includes(text)),
        `${name}:${line}`,
      );
    }
  }
});

async function boxOrReason(): Promise<BootedBox | string> {
  if (process.getuid?.() !== 0) return "booting a system needs root";
  try {
    return await bootBox();
  } catch (error) {
    return (error as Error).message.split("\n")[0] ?? "";
  }
}

/** Root's home as after the download: the archive with its checksum, and an image; kubectl and sudo as on most machines. */
async function prepare({ root }: BootedBox): Promise<void> {
  execFileSync(join(project, "skiff"), ["setup", "run"], { stdio: "ignore" });
  const home = join(root, "root");
  mkdirSync(home, { recursive: true });
  const image = join(home, "shop.tar");
  writeFileSync(image, await imageArchive(busyboxImage({ name: "docker.io/library/busybox:1.36" })));
  const cache = join(project, ".cache/release");
  const folder = join(root, "srv", release);
  fillRelease({ project, arch: process.arch as Arch, images: [image], packages: false, cache, folder });
  const archive = join(home, `${release}.tar.gz`);
  execFileSync("tar", ["-C", join(root, "srv"), "--use-compress-program=gzip -1", "-cf", archive, release]);
  writeFileSync(join(home, "SHA256SUMS"), `${sha256(archive)}  ${release}.tar.gz\n`);
  execFileSync("sh", ["-c", 'cp -L "$(command -v kubectl)" "$0"', join(root, "usr/local/bin/kubectl")]);
  // Where a page pulls an image, it finds it here instead of in a registry.
  const images = join(root, "var/lib/skiff-trial/images");
  mkdirSync(images, { recursive: true });
  cpSync(image, join(images, "shop.tar"));
  writeFileSync(join(root, "usr/local/bin/sudo"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
}

t.test("the pages' blocks run on a fresh system", { timeout: 700_000 }, async (t) => {
  const box = await boxOrReason();
  if (typeof box === "string") return void t.pass("not here", { skip: box });
  t.teardown(() => box.remove());
  await prepare(box);
  for (const name of pages) {
    await t.test(name, async (t) => {
      const isGuest = needsService.includes(name);
      if (isGuest) {
        await shell(box, `sh /srv/${release}/install.sh`);
        mkdirSync(join(box.root, "etc/skiff/plugins"), { recursive: true });
        cpSync(join(docs, "examples"), join(box.root, "etc/skiff/plugins"), { recursive: true });
      }
      const running: Running[] = [];
      for (const block of codeBlocks(readFileSync(join(docs, name), "utf8")))
        await runners[block.language]?.(t, box, { ...block, text: here(block.text) }, running);
      if (isGuest) await shell(box, "skiff uninstall");
      await t.rejects(box.run("pgrep", "-f", "skiff.js"), "nothing is left running");
    });
    if (!t.passing()) return;
  }
});

interface Running {
  readonly ended: Promise<void>;
}

type Runner = (t: Test, box: BootedBox, block: CodeBlock, running: Running[]) => Promise<void>;

const runners: Record<string, Runner> = {
  async sh(t, box, { text, note, line }, running) {
    const why = notRun[note];
    if (why) return void t.pass(`line ${line}`, { skip: why });
    if (note === "refused") return void (await t.rejects(shell(box, text), { message: /forbidden/ }, `line ${line}`));
    if (note === "keeps-running") return void running.push(await begin(box, text));
    if (note === "on-a-pi") return onPi(t, box, text, line);
    if (note === "a-pod-of-yours") {
      const said = await shell(box, text.replaceAll("<pod>", await restartedPod(box)));
      return void t.match(said, /last words/, `line ${line}`);
    }
    if (note === "ends-what-runs") {
      await box.run("pkill", "-INT", "-f", "skiff.js up");
      await Promise.all(running.map(({ ended }) => ended));
    } else if (note !== "") t.fail(`line ${line}: "${note}" is not known to this test`);
    await shell(box, text);
    t.pass(`line ${line}`);
  },
  async yaml(t, box, { text, note, line }) {
    const file =
      note === "config" ? "etc/skiff/config.yaml" : note === "registries" ? "var/lib/skiff/registries.yaml" : "";
    if (file === "") {
      writeFileSync(join(box.root, "root/block.yaml"), text);
      await shell(box, "kubectl apply -f block.yaml");
      return void t.pass(`line ${line}: it is applied`);
    }
    writeFileSync(join(box.root, file), text, { mode: 0o600 });
    await shell(box, "systemctl restart skiff");
    t.pass(`line ${line}: the service starts with it`);
  },
};

/** With a Pi's boot file, and a reboot that only says so: this box is started by other means. */
async function onPi(t: Test, box: BootedBox, text: string, line: number): Promise<void> {
  const file = join(box.root, "boot/firmware/cmdline.txt");
  const program = join(box.root, "usr/local/bin/reboot");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "console=tty1 root=PARTUUID=1 rootwait\n");
  writeFileSync(program, "#!/bin/sh\necho it boots again\n", { mode: 0o755 });
  t.match(await shell(box, text), /it boots again/, `line ${line}`);
  const expected = "console=tty1 root=PARTUUID=1 rootwait cgroup_enable=memory cgroup_memory=1\n";
  t.equal(readFileSync(file, "utf8"), expected, "one line, as the firmware wants it");
  for (const made of [program, join(box.root, "boot/firmware")]) rmSync(made, { recursive: true });
}

/** The name of a pod whose container has ended, and was started again. */
async function restartedPod(box: BootedBox): Promise<string> {
  const name = "unlucky";
  const script = "[ -e /kept/once ] && exec sleep 100000; touch /kept/once; echo last words; exit 1";
  const volumeMounts = [{ name: "kept", mountPath: "/kept" }];
  const image = "docker.io/library/busybox:1.36";
  const containers = [{ name: "c", image, imagePullPolicy: "Never", command: ["sh", "-c", script], volumeMounts }];
  const spec = { terminationGracePeriodSeconds: 0, containers, volumes: [{ name: "kept", emptyDir: {} }] };
  const pod = JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
  await shell(box, `kubectl apply -f - <<'END'\n${pod}\nEND`);
  const path = "jsonpath={.status.containerStatuses[0].restartCount}";
  await until("the restart", async () => (await shell(box, `kubectl get pod ${name} -o '${path}'`)) === "1", 120_000);
  return name;
}

/** Stops at the first failure, and tells what was said. */
async function shell(box: BootedBox, script: string): Promise<string> {
  const setting =
    "cd /root; export HOME=/root KUBECONFIG=/var/lib/skiff/admin.kubeconfig PATH=/usr/local/bin:/usr/sbin:/usr/bin";
  try {
    return await box.run("bash", "-c", `exec 2>&1; set -eo pipefail; ${setting}\n${script}`);
  } catch (error) {
    throw new Error(`${script}\n${(error as { stdout?: string }).stdout ?? ""}`, { cause: error });
  }
}

/** A program that goes on: resolves when it says that it is ready. */
async function begin(box: BootedBox, script: string): Promise<Running> {
  const child = box.start(
    "bash",
    "-c",
    `cd /root; export HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin; ${script}`,
  );
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await until("the program to be ready", () => /^ready /m.test(said), 120_000).catch((error: unknown) => {
    throw new Error(`${script}\n${said}`, { cause: error });
  });
  return { ended };
}
