import t from "tap";
import { canCheckpoint } from "./container-checkpoint.ts";

t.test("canCheckpoint() is what the OCI runtime was built with", async (t) => {
  const rows = [
    { name: "runc", version: "runc version 1.1.5+ds1\nspec: 1.0.2-dev\n", can: true },
    {
      name: "crun of Debian 12",
      version: "crun version 1.8.1\nspec: 1.0.0\n+SYSTEMD +SECCOMP +EBPF +YAJL\n",
      can: false,
    },
    { name: "crun with criu", version: "crun version 1.14\nspec: 1.0.0\n+SYSTEMD +EBPF +CRIU +YAJL\n", can: true },
  ];
  for (const { name, version, can } of rows) t.equal(canCheckpoint(version), can, name);
});
