// The security context: users, groups, capabilities, seccomp, paths, privilege; and the image's own settings.

import * as cri from "../../../cri/api/gen/runtime.js";
import type { Test } from "./suite.ts";
import { type Pod, sleeper, type Workbench } from "./workbench.ts";

type Context = NonNullable<Parameters<typeof cri.LinuxContainerSecurityContext.create>[0]>;

const { RuntimeDefault, Unconfined } = cri.SecurityProfile_ProfileType;
const bit = (capability: number) => 1n << BigInt(capability);
const capability = { chown: bit(0), netBindService: bit(10), netAdmin: bit(12), netRaw: bit(13), sysAdmin: bit(21) };

export function security(t: Test, bench: Workbench): void {
  const skip = bench.lacks("kernel");
  let pod: Pod;
  const running = async (securityContext: Context, changes = {}) => {
    pod ??= await bench.pod({ linux: { securityContext: { privileged: true } } });
    return bench.started(pod, { linux: { securityContext }, ...changes });
  };
  const effective = async (id: string) => {
    const line = await bench.sh(id, "grep CapEff /proc/1/status");
    return BigInt(`0x${line.split("\t")[1]}`);
  };

  t.test("a container runs as the user and groups it is told", { skip }, async (t) => {
    const id = await running({
      runAsUser: { value: 1234 },
      runAsGroup: { value: 4321 },
      supplementalGroups: [777, 888],
      namespaceOptions: { pid: cri.NamespaceMode.CONTAINER },
    });
    t.match(await bench.sh(id, "id -u; id -g; id -G"), /^1234\n4321\n.*777.*888/);
    const named = await running({ runAsUsername: "app" });
    t.match(await bench.sh(named, "id"), /^uid=1000\(app\) gid=1000\(app\)/);
    await t.rejects(running({ runAsUsername: "nobody-knows-me" }));
  });

  t.test("without a user it is the image's", { skip }, async (t) => {
    const id = await running({}, { image: { image: bench.setup.images.namedUser } });
    t.match(await bench.sh(id, "id"), /^uid=1000\(app\) gid=1000\(app\)/);
    const told = await running({ runAsUser: { value: 1000 } });
    t.match(
      await bench.sh(told, "id"),
      /^uid=1000\(app\) .*2000\(extra\)/,
      "the image's groups for a user that is told",
    );
    const numbered = await running({}, { image: { image: bench.setup.images.numberedUser } });
    t.equal(await bench.sh(numbered, "id -u"), "1000");
  });

  t.test("capabilities are the default ones, with what is added and dropped", { skip }, async (t) => {
    const own = { namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } };
    const plain = await effective(await running(own));
    t.ok(plain & capability.chown && plain & capability.netBindService, "the usual ones");
    t.notOk(plain & capability.sysAdmin);
    const changed = await effective(
      await running({ ...own, capabilities: { addCapabilities: ["NET_ADMIN"], dropCapabilities: ["CHOWN"] } }),
    );
    t.ok(changed & capability.netAdmin);
    t.notOk(changed & capability.chown);
    const none = await effective(await running({ ...own, capabilities: { dropCapabilities: ["ALL"] } }));
    t.equal(none, 0n);
    const some = { dropCapabilities: ["ALL"], addCapabilities: ["NET_RAW"] };
    t.equal(await effective(await running({ ...own, capabilities: some })), capability.netRaw);
    const all = await effective(await running({ ...own, capabilities: { addCapabilities: ["ALL"] } }));
    t.ok(all & capability.sysAdmin && all & capability.netAdmin);
  });

  t.test("a privileged container may do everything", { skip }, async (t) => {
    const id = await running({ privileged: true, namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } });
    t.ok((await effective(id)) & capability.sysAdmin);
    t.match(await bench.sh(id, "grep Seccomp: /proc/1/status"), /0$/);
    t.equal(await bench.sh(id, "mount -t tmpfs none /tmp && echo ok"), "ok");
    const plain = await running({});
    await t.rejects(bench.sh(plain, "mount -t tmpfs none /tmp"));
  });

  t.test("no-new-privileges and seccomp are as told", { skip }, async (t) => {
    const own = { namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } };
    const status = (id: string) => bench.sh(id, "cat /proc/1/status");
    const tight = await status(await running({ ...own, noNewPrivs: true, seccomp: { profileType: RuntimeDefault } }));
    t.match(tight, /^NoNewPrivs:\s+1$/m);
    t.match(tight, /^Seccomp:\s+2$/m);
    const loose = await status(await running({ ...own, seccomp: { profileType: Unconfined } }));
    t.match(loose, /^NoNewPrivs:\s+0$/m);
    t.match(loose, /^Seccomp:\s+0$/m);
  });

  t.test("the root file system can be read-only, and paths masked or read-only", { skip }, async (t) => {
    const id = await running({
      readonlyRootfs: true,
      maskedPaths: ["/etc/group"],
      readonlyPaths: ["/proc/sys"],
    });
    await t.rejects(bench.sh(id, "touch /new"), /Read-only/);
    t.equal(await bench.sh(id, "cat /etc/group"), "");
    await t.rejects(bench.sh(id, "echo 1 > /proc/sys/kernel/shm_rmid_forced"));
    const open = await running({});
    t.equal(await bench.sh(open, "touch /new && echo ok"), "ok");
  });

  t.test(
    "environment, working folder, command and arguments come from the request or the image",
    { skip },
    async (t) => {
      const id = await running({}, { workingDir: "/tmp", envs: [{ key: "A", value: "1 2" }], command: sleeper });
      t.equal(await bench.sh(id, 'pwd; echo "$A"; echo $PATH'), "/tmp\n1 2\n/bin");
      pod ??= await bench.pod();
      const status = await bench.ran(pod, "", { command: [], args: ["sh", "-c", "exit 11"] });
      t.equal(status.exitCode, 11, "arguments replace the image's command");
    },
  );

  t.test("it is all gone with the pod", { skip }, async (t) => {
    if (pod) await bench.removePod(pod.id);
    t.pass("removed");
  });
}
