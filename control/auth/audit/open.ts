// Opens the audit log from its settings. Without any it records who changed what, who read secrets and what was refused, and leaves out
// the control plane's and the nodes' own traffic, so that an idle box writes nothing.

import { join } from "node:path";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
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

/** A line for each answer, none for the beginning of one. */
const answered: Pick<AuditPolicy["rules"][number], "omitStages"> = { omitStages: ["ResponseStarted"] };
const reads = ["get", "list", "watch"];

const defaultPolicy: AuditPolicy = {
  omitStages: ["RequestReceived"],
  omitManagedFields: true,
  // 20 at once, then 6 a minute: at most about 5 MB a day, whoever tries.
  refusals: { burst: 20, everyMs: 10_000 },
  rules: [
    // A WebSocket begins as a GET, whatever is done over it. Recorded at its beginning and its end.
    {
      level: "Metadata",
      resources: [
        {
          group: "",
          resources: ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy", "nodes/proxy"],
        },
      ],
    },
    // A node looks at the secrets of its pods every minute; the Node authorizer holds it to those, and what it is refused is recorded.
    { level: "None", userGroups: ["system:nodes"], verbs: reads },
    // Who reads secrets. A watch may stay open for long: recorded when it begins.
    {
      level: "Metadata",
      verbs: ["watch"],
      resources: [{ group: "", resources: ["secrets"] }],
      omitStages: ["ResponseComplete"],
    },
    { level: "Metadata", resources: [{ group: "", resources: ["secrets"] }], ...answered },
    { level: "None", verbs: reads },
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
    { level: "Metadata", ...answered },
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
