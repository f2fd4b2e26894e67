// Root never follows a path that a container, a pod author or an image can shape. Packages that work below volumes, root file systems, logs
// and image content go through plugins/kit/os/safe-files; functions that take paths are for the files listed here, each with its reason: those of
// the runtime, of libc, and of the kit, and programs that are run.
// A function that is added to a listed file must be added here, too: whoever does says why it is safe.

import { readFileSync } from "node:fs";
import t from "tap";
import { sourceFiles } from "../harness/source-files.ts";

const packages =
  /^(agent\/(containers|images|pleg|plugin-sockets|pods|resources|server|stats|volumes)\/|agent\/assemble\/uninstall-command\.ts|plugins\/(hook|stats|volume)\/|cri\/(native|docker)\/)/;

/** These take a descriptor, or only tell that something changed. */
const byDescriptor = /^(closeSync|constants|f[a-z]+Sync|readSync|watch|writeSync)$/;

const ownState = "files of its own, in a directory that no container sees";
const mountPoint = "makes or removes mount points in directories of the agent's own";
const kernelFiles = "files of the kernel or of the machine's administrator";
const archive =
  "an archive of the administrator's, and blobs and records of its own; layers are unpacked by layer-root.ts";

const allowed: Readonly<Record<string, readonly [uses: string, because: string]>> = {
  "agent/assemble/uninstall-command.ts": [
    "existsSync lstatSync readdirSync readlinkSync rmSync rmdirSync run",
    "the program's own files; what pods wrote is removed by handles",
  ],
  "agent/containers/log-files.ts": ["mkdirSync", "the directory of all logs; what is below is made by handles"],
  "agent/containers/mounted-files.ts": ["mkdir", ownState],
  "agent/images/credential-provider.ts": [
    "readFile runChecked",
    "a program of the administrator's and its configuration",
  ],
  "agent/images/image-folder.ts": [
    "existsSync mkdirSync readFileSync readdirSync statSync writeFileAtomic",
    "archives of the administrator's",
  ],
  "agent/plugin-sockets/plugin-sockets.ts": [
    "lstatSync mkdirSync readdirSync",
    "looks at entries of the directory that drivers register in, and opens none",
  ],
  "agent/pods/leftovers.ts": ["readdir", "lists the agent's own directories"],
  "agent/resources/cgroup-files.ts": [
    "mkdirSync readFileSync readdirSync rmdirSync statSync writeFileSync",
    "the cgroup file system, which has no links",
  ],
  "agent/resources/devices/device-manager.ts": ["mkdirSync readFileSync renameSync writeFileSync", ownState],
  "agent/resources/devices/device-plugins.ts": [
    "mkdirSync rmSync",
    "its own socket in the directory that device plugins register in",
  ],
  "agent/resources/devices/host-devices.ts": ["existsSync", kernelFiles],
  "agent/resources/log-rotation.ts": ["open", "makes a file (O_EXCL, O_NOFOLLOW) at an entry of an open folder"],
  "agent/resources/signals.ts": ["readFileSync statSync", kernelFiles],
  "agent/resources/user-namespaces.ts": [
    "existsSync mkdirSync readFileSync readdirSync renameSync writeFileSync",
    ownState,
  ],
  "agent/server/node-files.ts": [
    "readdir realpath",
    "resolves links, and opens what they lead to beneath the folder by handles; lists a directory by its handle",
  ],
  "agent/server/node-log-query.ts": ["access run", "the journal, which journalctl reads"],
  "agent/server/ui/files.ts": ["readFileSync", "the page's own files"],
  "agent/server/ui/generate.ts": [
    "copyFileSync mkdirSync mkdtempSync readdirSync renameSync rmSync statSync writeFileSync",
    "builds the page at set-up",
  ],
  "agent/server/ui/local-token.ts": ["mkdir writeFileAtomic", ownState],
  "agent/server/ui/state.ts": ["statfsSync", "the file system of the agent's own directory"],
  "agent/stats/cadvisor/filesystems.ts": ["readFile", kernelFiles],
  "agent/stats/cadvisor/inventory.ts": ["readFile", kernelFiles],
  "agent/stats/cadvisor/machine-document.ts": ["readFileSync readdirSync", kernelFiles],
  "agent/stats/cadvisor/processes.ts": ["readFileSync readdirSync readlinkSync", kernelFiles],
  "agent/stats/cadvisor/spec-document.ts": ["statSync", kernelFiles],
  "agent/stats/cadvisor/stats-document.ts": ["readFileSync", kernelFiles],
  "agent/stats/cadvisor/topology.ts": ["readFileSync readdirSync", kernelFiles],
  "agent/stats/disk.ts": [
    "statfs",
    "the file system of a directory; where it is somebody else's, another process asks",
  ],
  "agent/stats/find-cgroups.ts": ["readdirSync", kernelFiles],
  "agent/stats/node-sample.ts": ["readFileSync readdirSync", kernelFiles],
  "agent/stats/sampler.ts": ["readFileSync", kernelFiles],
  "agent/stats/task-states.ts": ["readFileSync", kernelFiles],
  "agent/volumes/local-path.ts": [
    "existsSync limitDirectory",
    "looks whether a volume's directory is there; its parent is the agent's",
  ],
  "agent/volumes/pod-directories.ts": ["existsSync mkdirSync readdirSync rmSync rmdirSync writeFileSync", ownState],
  "agent/volumes/sub-path.ts": ["chmodSync mkdirSync statSync", `${mountPoint}; handles by /proc/self/fd`],
  "cri/docker/containers/container-create.ts": ["mkdirSync", "the log directory that the caller names"],
  "cri/docker/containers/container-mounts.ts": [
    "existsSync mkdirSync readdirSync statSync",
    "a hostPath that its author may name, made where it is missing; devices of the host",
  ],
  "cri/docker/containers/container-security.ts": ["readFileSync", "a seccomp profile of the administrator's"],
  "cri/docker/containers/container-view.ts": ["readFileSync", kernelFiles],
  "cri/docker/containers/stats-service.ts": ["readFileSync", kernelFiles],
  "cri/docker/docker-runtime.ts": ["existsSync", "the daemon's socket"],
  "cri/docker/host-facts.ts": ["readFileSync", kernelFiles],
  "cri/docker/images/image-import.ts": ["createReadStream", "an archive of the administrator's"],
  "cri/docker/inventory.ts": ["readFileSync", kernelFiles],
  "cri/docker/logs/log-file.ts": ["mkdirSync readFileSync renameSync rmSync writeFileSync", ownState],
  "cri/docker/sandboxes/sandbox-view.ts": ["readFileSync", kernelFiles],
  "cri/native/containers/app-armor.ts": ["execFileSync readFileSync", kernelFiles],
  "cri/native/containers/cdi/cdi-devices.ts": ["readFileSync readdirSync", kernelFiles],
  "cri/native/containers/conmon.ts": ["mkdirSync readFile readFileSync", ownState],
  "cri/native/containers/container-attach.ts": [
    "existsSync libc.open openSync",
    "conmon's control pipe in the runtime's directory",
  ],
  "cri/native/containers/checkpoint-archive.ts": [
    "accessSync rmSync spawner.run writeFileSync",
    "the archive, and lists in the checkpoint's own directory; tar opens entries by handles, no link and no FIFO",
  ],
  "cri/native/containers/container-checkpoint.ts": [
    "copyFileSync mkdirSync renameSync spawner.run writeFileSync",
    "the archive that the caller names, and what goes into it in the container's own directory",
  ],
  "cri/native/containers/container-create.ts": ["mkdirSync statSync writeFileSync", ownState],
  "cri/native/containers/container-end.ts": ["existsSync readFileSync spawner.run statSync", ownState],
  "cri/native/containers/container-rootfs.ts": [
    "bind.chmod chownSync libc.mount lstatSync mkdirSync rmdirSync",
    mountPoint,
  ],
  "cri/native/containers/container-start.ts": ["existsSync libc.open rmSync spawner.run", ownState],
  "cri/native/containers/container-update.ts": ["spawner.run writeFileSync", ownState],
  "cri/native/containers/container-volumes.ts": [
    "existsSync mkdirSync openSync readdirSync statSync",
    `${mountPoint}; a hostPath that its author may name, made where it is missing`,
  ],
  "cri/native/containers/exec-command.ts": ["readFileSync rmSync writeFileSync", ownState],
  "cri/native/containers/host-facts.ts": ["readFileSync readdirSync statSync", kernelFiles],
  "cri/native/containers/log-reopen.ts": ["existsSync", "looks whether conmon made the log"],
  "cri/native/containers/seccomp.ts": ["readFileSync", kernelFiles],
  "cri/native/containers/stats-service.ts": ["readFileSync", kernelFiles],
  "cri/native/containers/until-executed.ts": ["readFileSync", kernelFiles],
  "cri/native/images/archive-import.ts": ["createReadStream mkdir open rm", archive],
  "cri/native/images/content-store.ts": [
    "createReadStream mkdir open readFile readdir rename rm stat writeFile",
    archive,
  ],
  "cri/native/images/image-store.ts": ["mkdirSync rm", archive],
  "cri/native/images/layer-store.ts": ["existsSync mkdirSync readdirSync rename rm statfs", archive],
  "cri/native/images/layer-unpack.ts": [
    "lchownSync libc.lsetxattr libc.mknod linkSync lutimesSync mkdirSync open openSync symlinkSync",
    "entries of open folders (LayerRoot), by functions that do not follow links",
  ],
  "cri/native/images/registry-fetch.ts": ["readFileSync", kernelFiles],
  "cri/native/kernel/console-socket.ts": ["rmSync", ownState],
  "cri/native/kernel/installed-program.ts": ["chmodSync existsSync mkdirSync renameSync writeFileSync", ownState],
  "cri/native/kernel/libc.ts": ["libc.open", "the seam to libc itself"],
  "cri/native/kernel/mounts.ts": [
    "bind.statvfs libc.mount libc.open libc.umount readFileSync",
    "the seam to mount itself; mount points of the runtime's own",
  ],
  "cri/native/kernel/namespaces.ts": ["existsSync libc.open mkdirSync openSync readdirSync rmSync statSync", ownState],
  "cri/native/kernel/shifted-mount.ts": ["bind.syscall", mountPoint],
  "cri/native/kernel/spawn.ts": ["bind.posix_spawn_file_actions_addchdir_np chmodSync mkdirSync rmSync", ownState],
  "cri/native/native-runtime.ts": ["accessSync existsSync mkdirSync readFileSync", ownState],
  "cri/native/record-store.ts": ["mkdirSync rm", ownState],
  "cri/native/recovery.ts": ["existsSync readFileSync readdirSync rmSync", ownState],
  "cri/native/sandboxes/pid-holder.ts": ["libc.open mkdirSync", ownState],
  "cri/native/sandboxes/sandbox-files.ts": [
    "libc.mount mkdirSync readFileSync",
    `${ownState}; the host's resolv.conf and hosts`,
  ],
  "cri/native/sandboxes/sandbox-namespaces.ts": ["libc.open mkdirSync readFileSync writeFileSync", ownState],
  "cri/native/start-conditions.ts": [
    "accessSync mkdirSync rmSync",
    "the runtime's own programs, and a directory of its own in which it tries an overlay mount",
  ],
  "cri/native/state-file.ts": [
    "mkdirSync openSync readFileSync readdirSync renameSync rmSync writeFileAtomic",
    ownState,
  ],
  "plugins/hook/log-links.ts": [
    "lstatSync mkdirSync readFileSync writeFileSync",
    "state of its own; looks whether a log is there; makes the directory of the links, which is opened as no link",
  ],
  "plugins/stats/index.ts": ["existsSync", kernelFiles],
  "plugins/volume/content-volume.ts": ["mkdirSync", mountPoint],
  "plugins/volume/csi/volume-state.ts": ["mkdirSync readFileSync renameSync rmSync writeFileSync", ownState],
  "plugins/volume/empty-dir.ts": ["mkdirSync", mountPoint],
  "plugins/volume/format-and-mount.ts": ["mkdirSync run", mountPoint],
  "plugins/volume/host-path.ts": [
    "lstatSync mkdirSync openSync statSync",
    "a path of the host that its author may name: following it is what is asked for",
  ],
  "plugins/volume/iscsi/disk.ts": ["existsSync mkdirSync readFileSync readdirSync renameSync writeFileSync", ownState],
  "plugins/volume/iscsi/initiator.ts": ["existsSync readdirSync realpathSync run", kernelFiles],
  "plugins/volume/iscsi/iscsi.ts": ["mkdirSync", mountPoint],
  "plugins/volume/local-path.ts": [
    "chmodSync limitDirectory mkdirSync",
    "the volume's directory itself, when it is first made",
  ],
  "plugins/volume/local.ts": ["existsSync mkdirSync readdirSync statSync", mountPoint],
  "plugins/volume/nfs.ts": ["mkdirSync rmdirSync run", mountPoint],
  "plugins/volume/shared-mount.ts": [
    "existsSync mkdirSync readFileSync readdirSync rmSync rmdirSync writeFileSync",
    `${mountPoint}, and remembers who uses them beside`,
  ],
  "plugins/volume/tmpfs.ts": ["mkdirSync", mountPoint],
};

const moduleName = /"(?:node:)?(?:fs|fs\/promises|child_process)"/g;
/** Modules whose functions take paths, or run programs that do. */
const namedImport =
  /^import \{([^}]*)\} from "(?:node:fs|node:fs\/promises|node:child_process|[./\w-]*\/platform\/(?:files|process|project-quota)\.ts)";/gm;
const nativeCall =
  /\b(?:libc(?:\(\))?\.(?:open|mount|umount2?|mknod|statx|[a-z]+xattr)(?=\()|bind\("[^"]*?\b\w+(?=\([^"]*char \*)|spawner\.run(?=\())/g;

/** What a file uses of functions that take paths: of the runtime, of the kit, and of libc. */
function pathFunctions(source: string): string {
  const imported = [...source.matchAll(namedImport)]
    .flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()))
    .filter((name) => name !== "" && !name.startsWith("type ") && !byDescriptor.test(name));
  const called = [...source.matchAll(nativeCall)].map(([call]) =>
    call.replace("()", "").replace(/^bind\(.*?(\w+)$/, "bind.$1"),
  );
  return [...new Set([...imported, ...called])].sort().join(" ");
}

/** Every mention of such a module must be an import by name, or what it uses is not seen. */
function isSeen(source: string): boolean {
  const mentions = source.match(moduleName)?.length ?? 0;
  const imports = source.match(/^import (type )?\{[^}]*\} from "node:(fs|fs\/promises|child_process)";/gm)?.length ?? 0;
  return mentions === imports && !/\brequire\(|getBuiltinModule/.test(source);
}

t.test("packages that work where containers write use file functions by path only where listed", async (t) => {
  const files = sourceFiles().filter(
    (file) => packages.test(file) && file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  const seen = new Set<string>();
  for (const file of files) {
    const source = readFileSync(file, "utf8");
    t.ok(isSeen(source), `${file} imports functions by name`);
    const used = pathFunctions(source);
    if (used === "" && !allowed[file]) continue;
    seen.add(file);
    t.equal(used, allowed[file]?.[0] ?? "", `${file}: ${allowed[file]?.[1] ?? "use plugins/kit/os/safe-files"}`);
  }
  t.same(
    Object.keys(allowed).filter((file) => !seen.has(file)),
    [],
    "every file that is listed exists",
  );
});
