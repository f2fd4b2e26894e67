// What a control plane can be told on the command line or in the config file.

import { durationSeconds } from "./duration.ts";
import { portProblem as port, type Setting } from "../../plugins/kit/base/settings.ts";

const isTime = (value: string) =>
  (durationSeconds(value) ?? 0) > 0 ? undefined : "it is a time above 0, such as 40s or 2m";

export const controlSettings: Setting[] = [
  { name: "https-port", type: "number", value: "port", default: 6443, check: port, help: "the API server's port" },
  { name: "bind-address", type: "text", value: "ip", default: "0.0.0.0", help: "the API server's address" },
  { name: "tls-san", type: "list", value: "name", help: "further names or addresses for the API server's certificate" },
  {
    name: "store",
    type: "text",
    value: "store",
    default: "sqlite",
    help: "sqlite, or etcd=https://a:2379,https://b:2379",
  },
  { name: "etcd-cafile", type: "text", value: "file", help: "the authority of etcd's certificates" },
  { name: "etcd-certfile", type: "text", value: "file", help: "our certificate towards etcd" },
  { name: "etcd-keyfile", type: "text", value: "file", help: "and its key" },
  {
    name: "snapshot-every",
    type: "text",
    value: "time",
    default: "0",
    check: (value: string) =>
      durationSeconds(value) === undefined ? "it is a time such as 12h, or 0 for never" : undefined,
    help: "copy the store to snapshots/ below the data dir this often; 0 is never",
  },
  {
    name: "snapshot-keep",
    type: "number",
    value: "count",
    default: 5,
    check: (value: number) => (Number.isInteger(value) && value > 0 ? undefined : "it is a whole number above 0"),
    help: "how many snapshots are kept when one is taken by the clock",
  },
  {
    name: "cluster-cidr",
    type: "text",
    value: "cidr",
    default: "10.42.0.0/16",
    help: "addresses of pods; two with a comma between for both families",
  },
  {
    name: "service-cidr",
    type: "text",
    value: "cidr",
    default: "10.43.0.0/16",
    help: "addresses of services; two with a comma between for both families",
  },
  {
    name: "node-monitor-grace-period",
    type: "text",
    value: "time",
    default: "50s",
    check: isTime,
    help: "how long a node may be silent before it is taken for lost; nodes speak every 10s",
  },
  {
    name: "audit-log-path",
    type: "text",
    value: "path",
    help: "the audit log; - turns it off (default: audit/audit.log below the data dir)",
  },
  {
    name: "audit-policy-file",
    type: "text",
    value: "file",
    help: "what is audited (default: who changed what, who read secrets, what was refused)",
  },
  { name: "audit-log-maxsize", type: "number", value: "megabytes", help: "turn the audit log over at this size" },
  { name: "audit-log-maxbackup", type: "number", value: "count", help: "keep so many old audit logs" },
  { name: "audit-log-maxage", type: "number", value: "days", help: "keep old audit logs so long" },
  {
    name: "scheduler-config",
    type: "text",
    value: "file",
    help: "profiles of the scheduler, or a policy file with predicates and priorities",
  },
  { name: "token-auth-file", type: "text", value: "file", help: 'static tokens: lines of token,user,uid,"groups"' },
  { name: "authorization-policy-file", type: "text", value: "file", help: "further authorization by ABAC policies" },
  {
    name: "authorization-webhook-config-file",
    type: "text",
    value: "kubeconfig",
    help: "further authorization by a remote service",
  },
  { name: "oidc-issuer-url", type: "text", value: "url", help: "take ID tokens of this OpenID provider" },
  { name: "oidc-client-id", type: "text", value: "id", help: "whom the ID tokens must be meant for" },
  { name: "oidc-username-claim", type: "text", value: "claim", help: "the claim that names the user (default: sub)" },
  { name: "oidc-username-prefix", type: "text", value: "text", help: "put before user names; - for none" },
  { name: "oidc-groups-claim", type: "text", value: "claim", help: "the claim that names the groups" },
  { name: "oidc-groups-prefix", type: "text", value: "text", help: "put before group names" },
  { name: "oidc-ca-file", type: "text", value: "file", help: "the authority of the provider's certificate" },
];
