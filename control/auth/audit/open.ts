// Opens the audit log from its settings. Without any it records who changed what, and leaves out the control plane's and
// the nodes' own traffic, so that an idle box writes nothing.

import { join } from "node:path";
import type { Clock } from "../../../plugins/kit/clock.ts";
import { Fault } from "../../../plugins/kit/fault.ts";
import type { Log } from "../../../plugins/kit/log.ts";
import { readIfPresent } from "../pki/files.ts";
import { createAuditor } from "./auditor.ts";
import type { Auditor } from "./contract.ts";
import { AuditFile } from "./log-file.ts";
import { type AuditPolicy, parseAuditPolicy } from "./policy.ts";

export interface AuditSettings {
  /** `-` turns the log off; `<data-dir>/audit/audit.log` when unset. */
  readonly logPath?: string | undefined;
  readonly policyPath?: string | undefined;
  readonly maxSizeMegabytes?: number | undefined;
  readonly maxBackups?: number | undefined;
  readonly maxAgeDays?: number | undefined;
}

export interface OpenedAudit {
  readonly auditor: Auditor | undefined;
  /** Everything recorded so far is on disk. */
  flush(): Promise<void>;
}

const defaultPolicy: AuditPolicy = {
  omitStages: ["RequestReceived", "ResponseStarted"],
  omitManagedFields: true,
  rules: [
    // A WebSocket begins as a GET, whatever is done over it.
    {
      level: "Metadata",
      resources: [
        {
          group: "",
          resources: ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"],
        },
      ],
    },
    { level: "None", verbs: ["get", "list", "watch"] },
    { level: "None", users: ["system:apiserver", "system:kube-scheduler", "system:kube-controller-manager"] },
    { level: "None", userGroups: ["system:nodes", "system:serviceaccounts:kube-system"] },
    {
      level: "None",
      resources: [
        { group: "", resources: ["events"] },
        { group: "events.k8s.io", resources: ["events"] },
      ],
    },
    { level: "None", resources: [{ group: "coordination.k8s.io", resources: ["leases"] }] },
    { level: "None", resources: [{ group: "authorization.k8s.io" }, { group: "authentication.k8s.io" }] },
    { level: "Metadata" },
  ],
};

export function openAudit(
  settings: AuditSettings,
  { dataDir, clock, log }: { dataDir: string; clock: Clock; log: Log },
): OpenedAudit {
  if (settings.logPath === "-") return { auditor: undefined, flush: async () => {} };
  const { maxSizeMegabytes, maxBackups, maxAgeDays } = settings;
  const file = new AuditFile({
    path: settings.logPath ?? join(dataDir, "audit", "audit.log"),
    clock,
    log,
    ...(maxSizeMegabytes ? { maxSizeBytes: maxSizeMegabytes * 1024 * 1024 } : {}),
    ...(maxBackups === undefined ? {} : { maxBackups }),
    ...(maxAgeDays === undefined ? {} : { maxAgeDays }),
  });
  const policy = settings.policyPath === undefined ? defaultPolicy : readPolicy(settings.policyPath);
  return { auditor: createAuditor({ policy, clock, write: (event) => file.write(event) }), flush: () => file.flush() };
}

function readPolicy(path: string): AuditPolicy {
  const text = readIfPresent(path);
  if (text === undefined) throw new Fault("not-found", `Cannot use audit policy ${path}: there is no such file`);
  return parseAuditPolicy(text, path);
}
