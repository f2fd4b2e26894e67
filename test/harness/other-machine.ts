// The machine with a checkout that pages speak of: this one, in namespaces of its own, where nothing of what is installed or
// started touches the rest of it. Stand-ins: the project's own repository for the one that is cloned, the packages that are here for
// those that npm would fetch, a folder for what is copied to another box.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "./until.ts";

export interface OtherMachine {
  /** Where scripts begin; a clone of the project lies in `skiff` below it. */
  readonly home: string;
  /** Where copies for another box arrive. */
  readonly sent: string;
  /** Stops at the first failure, and tells what was said. `online` is on this machine's own network. */
  run(script: string, how?: { readonly online?: boolean }): Promise<string>;
  /** A program that goes on, in a process group of its own. */
  start(script: string): ChildProcess;
  remove(): Promise<void>;
}

const project = join(import.meta.dirname, "../..");
const execute = promisify(execFile);

/** Why there can be none here, or false: fits `{ skip }`. */
export function withoutOtherMachine(): string | false {
  if (process.getuid?.() !== 0) return "namespaces need root";
  if (!existsSync(join(project, ".git"))) return "this is no checkout that could be cloned";
  try {
    for (const program of ["git", "npm"]) execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
  } catch {
    return "git and npm are needed to follow what a page says of a checkout";
  }
  return false;
}

export async function otherMachine(): Promise<OtherMachine> {
  const home = mkdtempSync(join(tmpdir(), "skiff-other-"));
  const [bin, sent, hooks] = [join(home, ".bin"), join(home, ".sent"), join(home, ".git-template/hooks")];
  for (const folder of [bin, sent, hooks, join(home, ".layers")]) mkdirSync(folder, { recursive: true });
  program(join(bin, "sudo"), 'exec "$@"');
  program(join(bin, "scp"), `cp "$1" ${sent}/`);
  // What npm would fetch is here already. A lock file that is older than it is one that it was installed from.
  program(join(hooks, "post-checkout"), `ln -s ${project}/node_modules . && touch -d @1 package-lock.json`);
  const git = {
    GIT_TEMPLATE_DIR: join(home, ".git-template"),
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: `url.${project}.insteadOf`,
    GIT_CONFIG_VALUE_0: "https://example.org/skiff.git",
    GIT_CONFIG_KEY_1: "safe.directory",
    GIT_CONFIG_VALUE_1: "*",
  };
  const env = { ...process.env, ...git, HOME: home, PATH: `${bin}:${process.env["PATH"]}` };
  const holder = spawn("unshare", ["-f", "-p", "-m", "-n", "--kill-child", "sh", "-c", setUp, "sh", home], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => holder.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once("data", () => resolve());
    holder.once("exit", () => reject(new Error("the namespaces of another machine cannot be made here")));
  });
  const pid = await until("the other machine's first process", () => childOf(holder.pid ?? 0));
  const enter = (isOnline: boolean) => ["-t", String(pid), "-m", "-p", ...(isOnline ? [] : ["-n"]), "--"];
  const shell = (script: string) => ["bash", "-c", `exec 2>&1; set -eo pipefail; cd ${home}\n${script}`];
  return {
    home,
    sent,
    async run(script, { online = false } = {}) {
      try {
        const args = [...enter(online), ...shell(script)];
        return (await execute("nsenter", args, { env, maxBuffer: 64 << 20 })).stdout;
      } catch (error) {
        throw new Error(`${script}\n${(error as { stdout?: string }).stdout ?? ""}`, { cause: error });
      }
    },
    start: (script) => spawn("nsenter", [...enter(false), ...shell(script)], { env }),
    async remove() {
      holder.kill("SIGKILL");
      await ended;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function program(path: string, script: string): void {
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function childOf(pid: number): number | undefined {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? undefined : Number(text.split(" ")[0]);
}

// Whatever is written where programs are installed or keep things goes into layers that end with the box.
const setUp = `
set -e
home=$1
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs "$home/.layers"
for folder in /var/lib /etc /opt /run /usr/local; do
  mkdir -p "$home/.layers$folder/upper" "$home/.layers$folder/work"
  mount -t overlay -o "lowerdir=$folder,upperdir=$home/.layers$folder/upper,workdir=$home/.layers$folder/work" overlay "$folder"
done
mkdir -p /var/lib/skiff
mount -t tmpfs tmpfs /var/lib/skiff
ip link set lo up
ip link add eth0 type veth peer name far0
ip link set far0 up
ip address add 198.51.100.10/24 dev eth0
ip link set eth0 up
ip route add default via 198.51.100.1
echo made
exec sleep infinity
`;
