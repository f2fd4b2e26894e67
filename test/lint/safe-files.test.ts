// Root never follows a path that a container, a pod author or an image can shape. Packages that work below volumes, root file systems, logs
// and image content go through plugins/kit/safe-files; functions that take paths are for the files listed here, each with its reason.
// A function that is added to a listed file must be added here, too: whoever does says why it is safe.

import { readFileSync } from "node:fs";
import t from "tap";
import { sourceFiles } from "../harness/source-files.ts";

const packages =
  /^(agent\/(volumes|containers|pleg|pods|server\/logs)\/|agent\/resources\/(log-rotation|pod-usage)\.ts|plugins\/volume\/|cri\/(native|docker)\/)/;

/** These take a descriptor, or only tell that something changed. */
const byDescriptor = /^(closeSync|constants|f[a-z]+Sync|readSync|watch|writeSync)$/;

const ownState = "files of its own, in a directory that no container sees";
const mountPoint = "makes or removes mount points in directories of the agent's own";
const kernelFiles = "files of the kernel or of the machine's administrator";
const archive =
  "an archive of the administrator's, and blobs and records of its own; layers are unpacked by layer-root.ts";

const allowed: Readonly<Record<string, readonly [uses: string, because: string]>> = {
  "agent/containers/log-files.ts": ["mkdirSync", "the directory of all logs; what is below is made by handles"],
  "agent/containers/mounted-files.ts": ["mkdir", ownState],
  "agent/pods/leftovers.ts": ["readdir", "lists the agent's own directories"],
  "agent/resources/log-rotation.ts": ["open", "makes a file (O_EXCL, O_NOFOLLOW) at an entry of an open folder"],
  "agent/volumes/local-path.ts": [
    "existsSync",
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
  "cri/native/containers/app-armor.ts": ["readFileSync", kernelFiles],
  "cri/native/containers/cdi/cdi-devices.ts": ["readFileSync readdirSync", kernelFiles],
  "cri/native/containers/conmon.ts": ["mkdirSync readFile readFileSync", ownState],
  "cri/native/containers/container-attach.ts": [
    "existsSync openSync",
    "conmon's control pipe in the runtime's directory",
  ],
  "cri/native/containers/container-checkpoint.ts": [
    "accessSync copyFileSync mkdirSync renameSync rmSync writeFileSync",
    "the archive that the caller names, and what goes into it in the container's own directory",
  ],
  "cri/native/containers/container-create.ts": ["mkdirSync statSync writeFileSync", ownState],
  "cri/native/containers/container-end.ts": ["existsSync readFileSync statSync", ownState],
  "cri/native/containers/container-rootfs.ts": ["chownSync lstatSync mkdirSync rmdirSync", mountPoint],
  "cri/native/containers/container-start.ts": ["existsSync rmSync", ownState],
  "cri/native/containers/container-update.ts": ["writeFileSync", ownState],
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
    "lchownSync linkSync lutimesSync mkdirSync open openSync symlinkSync",
    "entries of open folders (LayerRoot), by functions that do not follow links",
  ],
  "cri/native/images/registry-fetch.ts": ["readFileSync", kernelFiles],
  "cri/native/kernel/console-socket.ts": ["rmSync", ownState],
  "cri/native/kernel/installed-program.ts": ["chmodSync existsSync mkdirSync renameSync writeFileSync", ownState],
  "cri/native/kernel/mounts.ts": ["readFileSync", kernelFiles],
  "cri/native/kernel/namespaces.ts": ["existsSync mkdirSync openSync readdirSync rmSync statSync", ownState],
  "cri/native/kernel/spawn.ts": ["chmodSync mkdirSync rmSync", ownState],
  "cri/native/native-runtime.ts": ["accessSync existsSync mkdirSync readFileSync", ownState],
  "cri/native/record-store.ts": ["mkdirSync rm", ownState],
  "cri/native/recovery.ts": ["existsSync readFileSync readdirSync rmSync", ownState],
  "cri/native/sandboxes/pid-holder.ts": ["mkdirSync", ownState],
  "cri/native/sandboxes/sandbox-files.ts": ["mkdirSync readFileSync", `${ownState}; the host's resolv.conf and hosts`],
  "cri/native/sandboxes/sandbox-namespaces.ts": ["mkdirSync readFileSync writeFileSync", ownState],
  "cri/native/state-file.ts": ["mkdirSync openSync readFileSync readdirSync renameSync rmSync", ownState],
  "plugins/volume/content-volume.ts": ["mkdirSync", mountPoint],
  "plugins/volume/csi/volume-state.ts": ["mkdirSync readFileSync renameSync rmSync writeFileSync", ownState],
  "plugins/volume/empty-dir.ts": ["mkdirSync", mountPoint],
  "plugins/volume/format-and-mount.ts": ["mkdirSync", mountPoint],
  "plugins/volume/host-path.ts": [
    "lstatSync mkdirSync openSync statSync",
    "a path of the host that its author may name: following it is what is asked for",
  ],
  "plugins/volume/iscsi/disk.ts": ["existsSync mkdirSync readFileSync readdirSync renameSync writeFileSync", ownState],
  "plugins/volume/iscsi/initiator.ts": ["existsSync readdirSync realpathSync", kernelFiles],
  "plugins/volume/iscsi/iscsi.ts": ["mkdirSync", mountPoint],
  "plugins/volume/local-path.ts": ["chmodSync mkdirSync", "the volume's directory itself, when it is first made"],
  "plugins/volume/local.ts": ["existsSync mkdirSync readdirSync statSync", mountPoint],
  "plugins/volume/nfs.ts": ["mkdirSync rmdirSync", mountPoint],
  "plugins/volume/shared-mount.ts": [
    "existsSync mkdirSync readFileSync readdirSync rmSync rmdirSync writeFileSync",
    `${mountPoint}, and remembers who uses them beside`,
  ],
  "plugins/volume/tmpfs.ts": ["mkdirSync", mountPoint],
};

/** What a file imports of the runtime's file functions that take paths. */
function pathFunctions(source: string): string {
  const names = [...source.matchAll(/^import \{([^}]*)\} from "node:fs(?:\/promises)?";/gm)]
    .flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()))
    .filter((name) => name !== "" && !name.startsWith("type ") && !byDescriptor.test(name));
  return names.sort().join(" ");
}

t.test("packages that work where containers write use file functions by path only where listed", async (t) => {
  const files = sourceFiles().filter(
    (file) => packages.test(file) && file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  const seen = new Set<string>();
  for (const file of files) {
    const source = readFileSync(file, "utf8");
    t.notMatch(
      source,
      /^import (\* as )?\w+ from "node:fs|require\(|import\("node:fs/m,
      `${file} imports functions by name`,
    );
    const used = pathFunctions(source);
    if (used === "" && !allowed[file]) continue;
    seen.add(file);
    t.equal(used, allowed[file]?.[0] ?? "", `${file}: ${allowed[file]?.[1] ?? "use plugins/kit/safe-files"}`);
  }
  t.same(
    Object.keys(allowed).filter((file) => !seen.has(file)),
    [],
    "every file that is listed exists",
  );
});
