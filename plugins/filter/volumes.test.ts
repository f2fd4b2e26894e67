// The filters about volumes, by tables: what each says of a node, in upstream's words.

import t from "tap";
import { decide } from "../../control/scheduler/decide.ts";
import { describeFit } from "../../control/scheduler/fit-error.ts";
import { defaultProfile, node, pod, snapshot } from "../../test/harness/scheduling.ts";

const profile = await defaultProfile();
const hostname = "kubernetes.io/hostname";
const on = (value: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: "In", values: [value] }] }] },
});
const claim = (name: string, spec: object, isBound = false) => ({
  metadata: { namespace: "default", name, annotations: isBound ? { "pv.kubernetes.io/bind-completed": "yes" } : {} },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});
const volume = (name: string, spec: object, labels = {}) => ({
  metadata: { name, labels },
  spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
  status: { phase: "Available" },
});
const using = (name: string, claimName: string) =>
  pod(name, { volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] });
const ebs = (name: string) => pod(name, { volumes: [{ name: "v", awsElasticBlockStore: { volumeID: "vol" } }] });

const lists = {
  storageclasses: [
    {
      metadata: { name: "by-hand" },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    },
    { metadata: { name: "made" }, provisioner: "skiff.io/local-path", volumeBindingMode: "WaitForFirstConsumer" },
    { metadata: { name: "reports" }, provisioner: "full.example", volumeBindingMode: "WaitForFirstConsumer" },
    { metadata: { name: "csi" }, provisioner: "csi.example", volumeBindingMode: "WaitForFirstConsumer" },
  ],
  persistentvolumeclaims: [
    claim("immediate", {}),
    claim("on-b", { volumeName: "pv-b" }, true),
    claim("zoned", { volumeName: "pv-zone" }, true),
    claim("static", { storageClassName: "by-hand" }),
    claim("large", { storageClassName: "by-hand", resources: { requests: { storage: "9Gi" } } }),
    claim("dynamic", { storageClassName: "made" }),
    claim("fits-b", { storageClassName: "reports", resources: { requests: { storage: "3Gi" } } }),
    claim("fits-none", { storageClassName: "reports", resources: { requests: { storage: "9Gi" } } }),
    claim("counted", { storageClassName: "csi" }),
    claim("single", { storageClassName: "made", accessModes: ["ReadWriteOncePod"] }),
    claim("lost", { volumeName: "nowhere" }, true),
  ],
  persistentvolumes: [
    volume("pv-b", { nodeAffinity: on("b") }),
    volume("pv-zone", {}, { "topology.kubernetes.io/zone": "z2" }),
    volume("free-b", { storageClassName: "by-hand", nodeAffinity: on("b") }),
  ],
  csidrivers: [{ metadata: { name: "full.example" }, spec: { storageCapacity: true } }],
  csistoragecapacities: [
    { storageClassName: "reports", capacity: "1Gi", nodeTopology: { matchLabels: { [hostname]: "a" } } },
    {
      storageClassName: "reports",
      capacity: "100Gi",
      maximumVolumeSize: "4Gi",
      nodeTopology: { matchLabels: { [hostname]: "b" } },
    },
    { storageClassName: "other", capacity: "100Gi", nodeTopology: {} },
    { storageClassName: "reports", capacity: "100Gi" },
  ],
  csinodes: [{ metadata: { name: "a" }, spec: { drivers: [{ name: "csi.example", allocatable: { count: 0 } }] } }],
};
const zone = "topology.kubernetes.io/zone";
const two = [node("a", { [zone]: "z1" }), node("b", { [zone]: "z2" })];
const all = "0/1 nodes are available";

const cases: [string, ReturnType<typeof pod>, string][] = [
  ["a claim that is not there", using("p", "none"), `${all}: persistentvolumeclaim "none" not found.`],
  [
    "an immediate claim that waits",
    using("p", "immediate"),
    `${all}: pod has unbound immediate PersistentVolumeClaims.`,
  ],
  ["a volume of another node", using("p", "on-b"), `${all}: 1 node(s) had volume node affinity conflict.`],
  ["a volume of another zone", using("p", "zoned"), `${all}: 1 node(s) had no available volume zone.`],
  [
    "no volume large enough",
    using("p", "large"),
    `${all}: 1 node(s) didn't find available persistent volumes to bind.`,
  ],
  ["a driver without room here", using("p", "fits-b"), `${all}: 1 node(s) did not have enough free storage.`],
  ["too many of a driver", using("p", "counted"), `${all}: 1 node(s) exceed max volume count.`],
  [
    "a volume that is gone",
    using("p", "lost"),
    `${all}: 1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s).`,
  ],
  ["a disk that is taken", ebs("p"), `${all}: 1 node(s) had no available disk.`],
  [
    "a claim for one pod",
    using("p", "single"),
    `${all}: 1 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.`,
  ],
];

t.test("volume filters say what is wrong with a node", async (t) => {
  for (const [name, wanted, message] of cases) {
    const there = snapshot(
      two.slice(0, 1),
      [
        [ebs("other"), "a"],
        [using("holder", "single"), "a"],
      ],
      lists,
    );
    const decision = decide(wanted, there, profile, { startAt: 0, random: Math.random });
    t.equal("fitError" in decision ? describeFit(decision.fitError) : decision.node.name, message, name);
  }
});

t.test("volume filters lead pods to where their volumes are or can be", async (t) => {
  const where = (claimName: string) => {
    const options = { startAt: 0, random: Math.random };
    const decision = decide(using("p", claimName), snapshot(two, [], lists), profile, options);
    return "node" in decision ? decision.node.name : describeFit(decision.fitError);
  };
  t.equal(where("on-b"), "b");
  t.equal(where("zoned"), "b");
  t.equal(where("static"), "b", "the only free volume is there");
  t.equal(where("counted"), "b", "the driver has no limit there");
  t.equal(where("fits-b"), "b", "the driver has room for it there");
  t.equal(where("fits-none"), "0/2 nodes are available: 2 node(s) did not have enough free storage.");
  t.match(where("dynamic"), /^[ab]$/, "it can be made anywhere");
});

t.test("a claim for one pod is taken wherever that pod runs", async (t) => {
  const there = snapshot(two, [[using("holder", "single"), "a"]], lists);
  const decision = decide(using("p", "single"), there, profile, { startAt: 0, random: Math.random });
  t.equal(
    "fitError" in decision ? describeFit(decision.fitError) : decision.node.name,
    "0/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.",
  );
});

t.test("NodeVolumeLimits counts what is attached, used or not, and nothing twice", async (t) => {
  const csi = (name: string) => volume(name, { csi: { driver: "csi.example", volumeHandle: name } });
  const attached = (name: string) => ({
    metadata: { name },
    spec: { attacher: "csi.example", nodeName: "a", source: { persistentVolumeName: name } },
  });
  const cluster = (count: number, volumeattachments: object[]) =>
    snapshot([node("a")], [[using("other", "used"), "a"]], {
      persistentvolumeclaims: ["used", "mine"].map((name) => claim(name, { volumeName: name }, true)),
      persistentvolumes: ["used", "mine", "leaving"].map(csi),
      csinodes: [{ metadata: { name: "a" }, spec: { drivers: [{ name: "csi.example", allocatable: { count } }] } }],
      volumeattachments,
    });
  const fits = (there: ReturnType<typeof cluster>) =>
    "node" in decide(using("p", "mine"), there, profile, { startAt: 0, random: Math.random });
  t.equal(fits(cluster(2, [attached("used")])), true, "the other's is counted once");
  t.equal(fits(cluster(2, [attached("used"), attached("leaving")])), false, "one on its way out takes a place");
  t.equal(fits(cluster(2, [attached("used"), attached("mine")])), true, "its own is there already");
});
