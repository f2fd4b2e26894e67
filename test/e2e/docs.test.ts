// The README and each page of docs/ as a new user would follow them: their code blocks, one after another, on a freshly booted Debian
// system without a network, where the release archive lies in root's home. What is told for a machine with a checkout runs on one that
// this machine plays, and what is told for a second box on a second box, beside the first.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { type Arch, fillRelease, sha256 } from "../../release/contents.ts";
import { type BootedBox, bootBox, connectBoxes } from "../harness/booted-box.ts";
import { type CodeBlock, codeBlocks } from "../harness/code-blocks.ts";
import { busyboxImage, imageArchive } from "../harness/images.ts";
import { type OtherMachine, otherMachine, withoutOtherMachine } from "../harness/other-machine.ts";
import { until } from "../harness/until.ts";

const project = join(import.meta.dirname, "../..");
const docs = join(project, "docs");
const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { version: string };
const release = `skiff-${version}-linux-${process.arch}`;

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
  return (
    text
      .replaceAll(/skiff-\d+\.\d+\.\d+-linux-(x64|arm64)/g, release)
      .replaceAll(/--arch (x64|arm64)/g, `--arch ${process.arch}`)
      // The cluster that is joined here is one of ours, which says where its DNS is.
      .replaceAll("cluster-dns=10.96.0.10", "cluster-dns=10.43.0.10")
  );
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

t.test("the README's two commands, in a checkout", { skip: withoutOtherMachine(), timeout: 300_000 }, async (t) => {
  const other = await otherMachine();
  t.teardown(() => other.remove());
  await other.run("git clone https://example.org/skiff.git");
  const blocks = codeBlocks(readFileSync(join(project, "README.md"), "utf8"));
  t.equal(blocks.length, 1);
  const lines = (blocks[0]?.text ?? "").trim().split("\n");
  const [first = "", ...rest] = lines;
  await untilReady(other, `cd skiff\n${first}`);
  for (const line of rest) t.match(await other.run(`cd skiff\n${line}`), /Ready/, line);
  await endHere(other, "skiff");
});

t.test("the pages' blocks run on a fresh system", { timeout: 1_200_000 }, async (t) => {
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
      const far: Far = { said: "", leave: [] };
      const running: Running[] = [];
      try {
        for (const block of codeBlocks(readFileSync(join(docs, name), "utf8")))
          await runners[block.language]?.(t, box, { ...block, text: here(block.text) }, running, far);
      } finally {
        for (const leave of far.leave.toReversed()) await leave();
      }
      if (isGuest) await shell(box, "skiff uninstall --yes");
      await t.rejects(box.run("pgrep", "-f", "skiff.js"), "nothing is left running");
    });
    if (!t.passing()) return;
  }
});

interface Running {
  readonly ended: Promise<void>;
}

/** What a page needs beside the box, made when a block asks for it. */
interface Far {
  /** What the block before said: a token to take to the second box. */
  said: string;
  other?: OtherMachine;
  second?: BootedBox;
  readonly leave: (() => Promise<void>)[];
}

type Runner = (t: Test, box: BootedBox, block: CodeBlock, running: Running[], far: Far) => Promise<void>;

const runners: Record<string, Runner> = {
  async sh(t, box, { text, note, line }, running, far) {
    if (note === "on-another-machine" || note === "in-a-checkout") {
      const why = withoutOtherMachine();
      if (why) return void t.pass(`line ${line}`, { skip: why });
      return note === "in-a-checkout" ? inCheckout(t, box, text, line, far) : fromClone(t, text, line, far);
    }
    if (note === "on-a-second-box") return onSecondBox(t, box, text, line, far);
    if (note === "with-a-kubelet") return withKubelet(t, far.second ?? box, text, line);
    if (note === "the-last-request") {
      const last = await shell(
        box,
        "kubectl get csr --field-selector=spec.signerName=kubernetes.io/kubelet-serving --sort-by=.metadata.creationTimestamp -o name | tail -n 1",
      );
      await shell(box, text.replace(/node-csr-\w+/, last.trim().split("/").at(-1) ?? ""));
      return void t.pass(`line ${line}`);
    }
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
    far.said = await shell(box, text);
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

/** One that lasts as long as the page. */
async function farMachine(far: Far): Promise<OtherMachine> {
  if (far.other) return far.other;
  const other = await otherMachine();
  far.other = other;
  far.leave.push(() => other.remove());
  return other;
}

/** From the clone to a cluster that runs, and away with it. */
async function fromClone(t: Test, text: string, line: number, far: Far): Promise<void> {
  const other = await farMachine(far);
  await untilReady(other, text);
  const nodes = "kubectl --kubeconfig /var/lib/skiff/admin.kubeconfig get nodes";
  t.match(await other.run(nodes), / Ready /, `line ${line}`);
  await endHere(other, "skiff");
}

/** Archives that are made there replace those in root's home, as if they were carried over. */
async function inCheckout(t: Test, box: BootedBox, text: string, line: number, far: Far): Promise<void> {
  const other = await farMachine(far);
  const home = join(box.root, "root");
  await other.run("git clone https://example.org/skiff.git");
  const docker = join(other.home, ".bin/docker");
  writeFileSync(docker, `#!/bin/sh\n[ "$1 $3" = "save -o" ] && cp ${home}/shop.tar "$4"\n`, { mode: 0o755 });
  // Debian's packages are fetched, and what is fetched only for another kind of machine is not.
  await other.run(`cd skiff\n${text}`, { online: true });
  const made = join(other.home, "skiff/dist/release");
  const archive = `${release}.tar.gz`;
  if (text.includes("scp ")) cpSync(join(other.sent, archive), join(home, archive));
  else for (const name of readdirSync(made)) cpSync(join(made, name), join(home, name));
  t.pass(`line ${line}`);
}

/** A second box on the wire of the first; what it needs of the first is what the page has made there. */
async function onSecondBox(t: Test, box: BootedBox, text: string, line: number, far: Far): Promise<void> {
  const second = await bootBox();
  far.second = second;
  far.leave.push(() => second.remove());
  await prepare(second);
  await shell(second, `tar -xzf ${release}.tar.gz`);
  far.leave.push(await connectBoxes(box, second, { name: "pi2", address: "192.0.2.11" }));
  const told = far.said.trim().split("\n").at(-1) ?? "";
  if (text.includes("kubeconfig=")) {
    const authority = (await shell(box, "base64 -w0 /var/lib/skiff/pki/ca.crt")).trim();
    mkdirSync(join(second.root, "etc/skiff"), { recursive: true });
    writeFileSync(join(second.root, "etc/skiff/kubeconfig"), kubeconfigWith(authority, told), { mode: 0o600 });
  }
  await shell(second, `cd ${release}\n${text.replace("K10…", told)}`);
  const name = /node-name=(\S+)/.exec(text)?.[1] ?? "pi2";
  const isReady = async () => (await shell(box, "kubectl get nodes")).match(new RegExp(`^${name} +Ready `, "m"));
  await until(`${name} to be ready`, isReady, 120_000);
  t.pass(`line ${line}: the second box is a node`);
  await shell(second, "skiff uninstall --yes");
}

/** The runtime's own command is run, until it listens; who comes to it is tested where there is one. */
async function withKubelet(t: Test, box: BootedBox, text: string, line: number): Promise<void> {
  const [serving = "", kubelet = ""] = text.split("\n");
  const child = box.start("bash", "-c", `PATH=/usr/local/bin:/root/${release}:$PATH; ${serving}`);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const socket = /unix:\/\/(\S+)/.exec(serving)?.[1] ?? "";
  await until(
    "the runtime to listen",
    () =>
      shell(box, `test -S ${socket}`)
        .then(() => true)
        .catch(() => false),
    60_000,
  );
  t.pass(`line ${line}: ${serving}`);
  t.pass(kubelet, { skip: "needs a stock kubelet: test/e2e/stock-kubelet.test.ts starts one where it is at hand" });
  await shell(box, "pkill -TERM -f 'skiff[.]js cri'");
  await ended;
}

function kubeconfigWith(authority: string, token: string): string {
  const cluster = { server: "https://192.0.2.10:6443", "certificate-authority-data": authority };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster }],
    users: [{ name: "node", user: { token } }],
    contexts: [{ name: "node", context: { cluster: "cluster", user: "node" } }],
    "current-context": "node",
  });
}

/** Starts what goes on, and waits until it says that it is ready. */
async function untilReady(other: OtherMachine, script: string): Promise<void> {
  const child = other.start(script);
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (said += text));
  await until("the program to be ready", () => /^ready /m.test(said), 180_000).catch((error: unknown) => {
    throw new Error(`${script}\n${said}`, { cause: error });
  });
}

/** Ends what runs there, and takes away what it made. */
async function endHere(other: OtherMachine, checkout: string): Promise<void> {
  await other.run("pkill -TERM -f 'skiff[.]js up'; while pgrep -f 'skiff[.]js up'; do sleep 0.2; done");
  await other.run(`cd ${checkout} && ./skiff uninstall --yes`);
}

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
