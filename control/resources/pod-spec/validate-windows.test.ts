// What pods may say of Windows, and what pods of Windows may not say.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const pods = "/api/v1/namespaces/default/pods";
const container = (more: Json) => ({ containers: [{ name: "a", image: "x", ...more }] });
const windows = (more: Json) => ({ os: { name: "windows" }, ...more });
const options = (more: Json) => ({ securityContext: { windowsOptions: more } });
const user = (runAsUserName: string) => options({ runAsUserName });
const ofPod = "spec.securityContext.windowsOptions";
const ofContainer = "spec.containers[0].securityContext";
const not = "Forbidden: cannot be set for a windows pod";

const podContext = {
  appArmorProfile: { type: "RuntimeDefault" },
  seLinuxOptions: {},
  seccompProfile: { type: "RuntimeDefault" },
  fsGroup: 1,
  fsGroupChangePolicy: "Always",
  sysctls: [{ name: "a", value: "1" }],
  runAsUser: 1,
  runAsGroup: 1,
  supplementalGroups: [1],
  supplementalGroupsPolicy: "Merge",
  seLinuxChangePolicy: "Recursive",
};
const containerContext = {
  appArmorProfile: { type: "RuntimeDefault" },
  seLinuxOptions: {},
  seccompProfile: { type: "RuntimeDefault" },
  capabilities: {},
  readOnlyRootFilesystem: false,
  privileged: false,
  allowPrivilegeEscalation: true,
  procMount: "Default",
  runAsUser: 1,
  runAsGroup: 1,
};

/** The spec, and what is said of it; nothing when it is right. */
const rows: [name: string, spec: Json, says?: string][] = [
  ["a pod of Windows", windows({ hostPID: false, ...options({ runAsUserName: "CORP\\web" }) })],
  ["a user of a long domain", windows(user("corp.example.com\\web"))],
  [
    "host processes",
    windows({ hostNetwork: true, ...options({ hostProcess: true }), ...container(options({ hostProcess: true })) }),
  ],
  ["a pod that does not say its system", options({ gmsaCredentialSpecName: "a.b", gmsaCredentialSpec: "{}" })],
  ...Object.entries(podContext).map(([name, value]): (typeof rows)[number] => [
    `the pod's ${name}`,
    windows({ securityContext: { [name]: value } }),
    `spec.securityContext.${name}: ${not}`,
  ]),
  ...Object.entries(containerContext).map(([name, value]): (typeof rows)[number] => [
    `a container's ${name}`,
    windows(container({ securityContext: { [name]: value } })),
    `${ofContainer}.${name}: ${not}`,
  ]),
  ...["hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"].map((name): (typeof rows)[number] => [
    name,
    windows({ [name]: true }),
    `spec.${name}: ${not}`,
  ]),
  [
    "Windows options of a Linux container",
    { os: { name: "linux" }, ...container(options({})) },
    `${ofContainer}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
  ],
  [
    "a credential's name",
    options({ gmsaCredentialSpecName: "A" }),
    `${ofPod}.gmsaCredentialSpecName: Invalid value: "A": a lowercase RFC 1123 subdomain`,
  ],
  [
    "no credential",
    options({ gmsaCredentialSpec: "" }),
    `${ofPod}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
  ],
  [
    "a large credential",
    options({ gmsaCredentialSpec: "a".repeat(65537) }),
    "gmsaCredentialSpec size must be under 64 KiB",
  ],
  [
    "a container's user",
    container(user("")),
    `${ofContainer}.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string`,
  ],
  ["a bell", user("a\u0007"), "runAsUserName cannot contain control characters"],
  ["two domains", user("a\\b\\c"), "runAsUserName cannot contain more than one backslash"],
  ["a domain", user("a:b\\c"), "runAsUserName's Domain doesn't match the NetBios nor the DNS format"],
  ["no domain", user("\\c"), "runAsUserName's Domain doesn't match the NetBios nor the DNS format"],
  ["a long domain", user(`${"a.".repeat(128)}b\\c`), "runAsUserName's Domain length must be under 256 characters"],
  ["a domain alone", user("a\\"), "runAsUserName's User cannot be empty"],
  ["a long user", user("a".repeat(105)), "runAsUserName's User length must not be longer than 104 characters"],
  ["dots", user(". ."), "runAsUserName's User cannot contain only periods or spaces"],
  ["a user", user("a@b"), `runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`],
  [
    "a host process and a pod that is none",
    windows({ hostNetwork: true, ...options({ hostProcess: false }), ...container(options({ hostProcess: true })) }),
    `${ofContainer}.windowsOptions.hostProcess: Invalid value: true: pod hostProcess value must be identical if both are specified, was false`,
  ],
  [
    "a host process among others",
    windows({
      hostNetwork: true,
      initContainers: [{ name: "i", image: "x" }],
      ...container(options({ hostProcess: true })),
    }),
    'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
  ],
  [
    "a host process in its own network",
    windows(options({ hostProcess: true })),
    "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
  ],
];

t.test("a pod's words of its operating system are refused by field, and taken when they are right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, spec, says] of rows) {
    const asked = { metadata: { name: "x" }, spec: { ...container({}), ...spec } };
    const { status, body, text } = await api.ask("POST", `${pods}?dryRun=All`, asked);
    t.equal(status, says ? 422 : 201, `${name}: ${text.slice(0, 300)}`);
    if (says) t.ok(body.message.includes(says), `${name}: ${body.message.slice(0, 300)}`);
  }
});

t.test("a pod of Windows is not resized", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const requests = { cpu: "1" };
  await api.ask("POST", pods, { metadata: { name: "x" }, spec: windows(container({ resources: { requests } })) });
  const { status, body } = await api.ask(
    "PATCH",
    `${pods}/x/resize`,
    { spec: { containers: [{ name: "a", resources: { requests: { cpu: "2" } } }] } },
    { "content-type": "application/strategic-merge-patch+json" },
  );
  t.equal(status, 422);
  t.match(body.message, "windows pods cannot be resized");
});
