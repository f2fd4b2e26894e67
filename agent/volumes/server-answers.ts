// Whether the server behind a volume answers. One that is gone holds whoever looks at its files, in this process everything: so it is asked
// by a process beside before anything here looks at them.

import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { askFileSystem } from "../../plugins/kit/os/platform/file-system-use.ts";
import { fileSystemTypes } from "../../plugins/kit/os/platform/mount.ts";

const onServers = /^(nfs|cifs|smb|ceph|glusterfs|9p|fuse)/;
const patienceMs = 5_000;
const giveUpMs = 60_000;
/** Nobody is asked twice at a time: each question is a process that waits. */
const asking = new Map<string, Promise<unknown>>();

const askOther = (path: string) => askFileSystem(path, giveUpMs, uninterrupted);

/** Resolves at once for what lies on this machine. Fault `unavailable` when the server stays silent. */
export async function mustAnswer(
  path: string,
  { types = fileSystemTypes(), ask = askOther as (path: string) => Promise<unknown>, withinMs = patienceMs } = {},
): Promise<void> {
  if (!onServers.test(types.get(path) ?? "")) return;
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Fault("unavailable", `Cannot use the volume at ${path}: its server does not answer`));
    }, withinMs);
  });
  try {
    let answer = asking.get(path);
    if (!answer) {
      answer = ask(path).finally(() => asking.delete(path));
      answer.catch(() => {}); // told to whoever waits for it
      asking.set(path, answer);
    }
    await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
