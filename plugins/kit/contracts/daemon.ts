// The Daemon contract: a long-running service of the node, such as the service proxy or cluster DNS.

import type { Call } from "../base/call.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface Daemon {
  readonly name: string;
  /** Works until the call is stopped; returning early or throwing makes the agent start it again with back-off. */
  run(call: Call): Promise<void>;
  /** Removes everything it ever made on this host, knowing nothing but the host; for uninstall. */
  remove?(call: Call): Promise<void>;
}

export const daemonKind: Kind<Daemon> = kind("daemon");
