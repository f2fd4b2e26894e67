import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import { runMutating } from "../../control/admission/run.ts";
import type { AdmissionPlugin } from "../kit/contracts/admission.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import type { KubeObject, Pod } from "../kit/kube/objects/types.ts";
import { createKeyPair, createSigningRequest } from "../kit/os/x509.ts";
import { certificateApproval, certificateSubjectRestriction } from "./certificates.ts";
import { defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { admissionPlugins } from "./index.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { persistentVolumeClaimResize } from "./persistent-volume-claim-resize.ts";
import { priority } from "./priority.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import { storageObjectInUseProtection } from "./storage-object-in-use-protection.ts";

const core = (plural: string) => ({ group: "", plural });
const make = (kind: string, name: string, rest: object = {}, namespace?: string): KubeObject =>
  ({ apiVersion: "v1", kind, metadata: { name, ...(namespace ? { namespace } : {}) }, ...rest }) as KubeObject;
const pods = { resource: "pods" };
const podSpec = (object: KubeObject | undefined) => (object as unknown as Pod).spec;

async function opened(t: { teardown(close: () => Promise<void>): void }, ...plugins: unknown[]) {
  const admission = await openAdmission(plugins, { clock: systemClock });
  t.teardown(() => admission.close());
  return admission;
}

t.test("NamespaceLifecycle refuses missing and ending namespaces and keeps the immortal ones", async (t) => {
  const { view, admit } = await opened(t, namespaceLifecycle);
  await t.rejects(admit(createRequest(podOf({}), pods)), { code: "not-found", message: 'namespaces "shop" not found' });
  view.put(core("namespaces"), make("Namespace", "shop"));
  await admit(createRequest(podOf({}), pods));
  view.put(core("namespaces"), make("Namespace", "shop", { status: { phase: "Terminating" } }));
  await t.rejects(admit(createRequest(podOf({}), pods)), {
    code: "forbidden",
    message: 'pods "web" is forbidden: unable to create new content in namespace shop because it is being terminated',
    details: { details: { causes: [{ reason: "NamespaceTerminating" }] } },
  });
  const remove = (name: string) =>
    admit(createRequest(make("Namespace", name), { resource: "namespaces", operation: "DELETE" }));
  await t.rejects(remove("kube-system"), { code: "forbidden", message: /may not be deleted/ });
  await remove("shop");
});

t.test("ServiceAccount mounts the token as upstream does", async (t) => {
  const { view, admit } = await opened(t, serviceAccount);
  await t.rejects(admit(createRequest(podOf({ serviceAccountName: "robot" }), pods)), {
    message: /error looking up service account shop\/robot: serviceaccount "robot" not found/,
  });
  view.put(
    core("serviceaccounts"),
    make("ServiceAccount", "default", { imagePullSecrets: [{ name: "pull" }] }, "shop"),
  );
  const { object } = await admit(createRequest(podOf({ initContainers: [{ name: "i", image: "x" }] }), pods));
  const spec = podSpec(object);
  t.equal(spec?.serviceAccountName, "default");
  t.same(spec?.imagePullSecrets, [{ name: "pull" }]);
  const volume = spec?.volumes?.[0];
  t.match(volume?.name, /^kube-api-access-[a-z0-9]{5}$/);
  t.match(volume?.projected?.sources, [
    { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
    { configMap: { name: "kube-root-ca.crt" } },
    { downwardAPI: {} },
  ]);
  for (const container of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]) {
    t.match(container.volumeMounts, [
      { name: volume?.name, readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
    ]);
  }
  const opted = await admit(createRequest(podOf({ automountServiceAccountToken: false }), pods));
  t.equal(podSpec(opted.object)?.volumes, undefined);
  const own = { name: "x", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" };
  const kept = await admit(
    createRequest(podOf({ containers: [{ name: "a", image: "i", volumeMounts: [own] }] }), pods),
  );
  t.equal(podSpec(kept.object)?.volumes, undefined, "a container's own mount stays");
});

t.test("ServiceAccount waits for the default account of a young namespace", async (t) => {
  const { view, admit } = await opened(t, serviceAccount);
  const waiting = admit(createRequest(podOf({}), pods));
  setTimeout(() => view.put(core("serviceaccounts"), make("ServiceAccount", "default", {}, "shop")), 20);
  t.equal(podSpec((await waiting).object)?.serviceAccountName, "default");
});

t.test("DefaultTolerationSeconds adds only what is not tolerated", async (t) => {
  const { admit } = await opened(t, defaultTolerationSeconds);
  const tolerations = async (own: object[]) =>
    podSpec((await admit(createRequest(podOf({ tolerations: own }), pods))).object)?.tolerations;
  t.equal((await tolerations([]))?.length, 2);
  t.equal((await tolerations([{ operator: "Exists" }]))?.length, 1);
  const own = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
  t.match(await tolerations([own]), [own, { key: "node.kubernetes.io/unreachable", tolerationSeconds: 300 }]);
});

t.test("Priority computes from the class and refuses contradictions", async (t) => {
  const { view, admit } = await opened(t, priority);
  const group = "scheduling.k8s.io";
  const classes = { group, plural: "priorityclasses" };
  const resolve = async (spec: object) => podSpec((await admit(createRequest(podOf(spec), pods))).object);
  t.match(await resolve({}), { priority: 0, preemptionPolicy: "PreemptLowerPriority" });
  t.match(await resolve({ priorityClassName: "system-node-critical" }), { priority: 2000001000 });
  view.put(classes, make("PriorityClass", "high", { value: 100, preemptionPolicy: "Never" }));
  view.put(classes, make("PriorityClass", "usual", { value: 7, globalDefault: true }));
  t.match(await resolve({}), { priority: 7, priorityClassName: "usual" });
  t.match(await resolve({ priorityClassName: "high" }), { priority: 100, preemptionPolicy: "Never" });
  await t.rejects(resolve({ priorityClassName: "none" }), { message: /no PriorityClass with name none was found/ });
  await t.rejects(resolve({ priorityClassName: "high", priority: 5 }), {
    message: /integer value of priority \(5\) must not/,
  });
  const second = make("PriorityClass", "other", { value: 1, globalDefault: true });
  await t.rejects(admit(createRequest(second, { resource: "priorityclasses", group })), {
    message: /usual is already marked as default/,
  });
});

t.test("Priority keeps what was decided when a pod is replaced by its manifest", async (t) => {
  const { admit } = await opened(t, priority);
  const old = podOf({ priority: 7, preemptionPolicy: "Never" });
  const replaced = async (spec: object) =>
    podSpec((await admit({ ...createRequest(podOf(spec), pods), operation: "UPDATE", oldObject: old })).object);
  t.match(await replaced({}), { priority: 7, preemptionPolicy: "Never" });
  t.match(
    await replaced({ priority: 8 }),
    { priority: 8, preemptionPolicy: "Never" },
    "refused by validation later on",
  );
});

t.test("RuntimeClass adds overhead and scheduling", async (t) => {
  const { view, admit } = await opened(t, runtimeClass);
  const classes = { group: "node.k8s.io", plural: "runtimeclasses" };
  const resolve = async (spec: object) => podSpec((await admit(createRequest(podOf(spec), pods))).object);
  await t.rejects(resolve({ runtimeClassName: "kata" }), { message: /pod rejected: RuntimeClass "kata" not found/ });
  await t.rejects(resolve({ overhead: { cpu: "1" } }), { message: /without corresponding RuntimeClass/ });
  const scheduling = { nodeSelector: { kvm: "yes" }, tolerations: [{ key: "kvm", operator: "Exists" }] };
  view.put(classes, make("RuntimeClass", "kata", { overhead: { podFixed: { cpu: "250m" } }, scheduling }));
  t.match(await resolve({ runtimeClassName: "kata" }), {
    overhead: { cpu: "250m" },
    nodeSelector: { kvm: "yes" },
    tolerations: [{ key: "kvm" }],
  });
  await resolve({ runtimeClassName: "kata", overhead: { cpu: "0.25" } });
  await t.rejects(resolve({ runtimeClassName: "kata", overhead: { cpu: "1" } }), { message: /doesn't match/ });
  await t.rejects(resolve({ runtimeClassName: "kata", nodeSelector: { kvm: "no" } }), { message: /conflict/ });
});

t.test("claims get the newest default class and their finalizer, and grow only where allowed", async (t) => {
  const { view, admit } = await opened(
    t,
    defaultStorageClass,
    storageObjectInUseProtection,
    persistentVolumeClaimResize,
  );
  const classes = { group: "storage.k8s.io", plural: "storageclasses" };
  const claim = (spec: object, status = {}) => make("PersistentVolumeClaim", "data", { spec, status }, "shop");
  const on = { resource: "persistentvolumeclaims" };
  const none = await admit(createRequest(claim({}), on));
  t.same(none.object?.spec, {});
  t.same(none.object?.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const storageClass = (name: string, creationTimestamp: string, rest = {}) =>
    ({
      apiVersion: "v1",
      kind: "StorageClass",
      metadata: { name, annotations, creationTimestamp },
      ...rest,
    }) as KubeObject;
  view.put(classes, storageClass("old", "2026-01-01T00:00:00Z"));
  view.put(classes, storageClass("new", "2026-02-01T00:00:00Z", { allowVolumeExpansion: true }));
  t.match((await admit(createRequest(claim({}), on))).object?.spec, { storageClassName: "new" });
  t.match((await admit(createRequest(claim({ storageClassName: "" }), on))).object?.spec, { storageClassName: "" });
  const sized = (name: string, storage: string) =>
    claim({ storageClassName: name, resources: { requests: { storage } } }, { phase: "Bound" });
  const grow = (name: string) =>
    admit(createRequest(sized(name, "2Gi"), { ...on, operation: "UPDATE", oldObject: sized(name, "1Gi") }));
  await grow("new");
  await t.rejects(grow("old"), { message: /must support resize/ });
});

t.test("LimitRanger fills in defaults, notes them, and refuses what is out of bounds", async (t) => {
  const { view, admit } = await opened(t, limitRanger);
  const range = (...limits: object[]) =>
    view.put(core("limitranges"), make("LimitRange", "lr", { spec: { limits } }, "shop"));
  range({
    type: "Container",
    default: { cpu: "500m", memory: "256Mi" },
    defaultRequest: { cpu: "100m" },
    max: { cpu: "1" },
    min: { cpu: "50m" },
    maxLimitRequestRatio: { cpu: "10" },
  });
  const resolve = async (resources: object) =>
    (await admit(createRequest(podOf({ containers: [{ name: "a", image: "i", resources }] }), pods))).object;
  const filled = await resolve({});
  t.match(podSpec(filled)?.containers[0]?.resources, {
    limits: { cpu: "500m", memory: "256Mi" },
    requests: { cpu: "100m", memory: "256Mi" },
  });
  t.equal(
    filled?.metadata.annotations?.["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a",
  );
  const wrong: [string, object, RegExp][] = [
    [
      "too big",
      { limits: { cpu: "2" } },
      /^pods "web" is forbidden: .*maximum cpu usage per Container is 1, but limit is 2/,
    ],
    [
      "too small",
      { requests: { cpu: "10m" }, limits: { cpu: "20m" } },
      /minimum cpu usage per Container is 50m, but request is 10m/,
    ],
    [
      "lopsided",
      { requests: { cpu: "50m" }, limits: { cpu: "1" } },
      /cpu max limit to request ratio per Container is 10, but provided ratio is 20.000000/,
    ],
  ];
  for (const [name, resources, message] of wrong)
    await t.rejects(resolve(resources), { code: "forbidden", message }, name);
  const bigger = podOf({ containers: [{ name: "a", image: "i", resources: { limits: { cpu: "2" } } }] });
  await t.rejects(
    admit(createRequest(bigger, { ...pods, subresource: "resize", operation: "UPDATE" })),
    { code: "forbidden", message: /maximum cpu usage per Container is 1, but limit is 2/ },
    "resized in place",
  );
  range({ type: "Pod", max: { memory: "1Gi" } });
  await t.rejects(resolve({ limits: { memory: "2Gi" }, requests: { memory: "1Gi" } }), {
    message: /maximum memory usage per Pod is 1Gi, but limit is 2Gi/,
  });
  range({ type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "5Gi" } });
  const claim = (storage: string) =>
    admit(
      createRequest(make("PersistentVolumeClaim", "d", { spec: { resources: { requests: { storage } } } }, "shop"), {
        resource: "persistentvolumeclaims",
      }),
    );
  await claim("2Gi");
  await t.rejects(claim("10Gi"), {
    message: /maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi/,
  });
});

t.test("certificate steps ask for the signer's verb and keep system:masters out", async (t) => {
  const { view, admit } = await opened(t, certificateApproval, certificateSubjectRestriction);
  const group = "certificates.k8s.io";
  const request = (organizations: string[], signerName = "kubernetes.io/kube-apiserver-client") =>
    make("CertificateSigningRequest", "c", {
      spec: {
        signerName,
        request: Buffer.from(
          createSigningRequest({ key: createKeyPair().key, commonName: "x", organizations }),
        ).toString("base64"),
      },
    });
  const on = { resource: "certificatesigningrequests", group };
  await admit(createRequest(request(["dev"]), on));
  await t.rejects(admit(createRequest(request(["system:masters"]), on)), {
    code: "forbidden",
    message: /system:masters/,
  });
  const approve = () =>
    admit(createRequest(request([]), { ...on, subresource: "approval", operation: "UPDATE", oldObject: request([]) }));
  await t.rejects(approve(), { code: "forbidden", message: /not permitted to approve requests with signerName/ });
  view.allows = ({ verb, resource }) => verb === "approve" && resource?.name === "kubernetes.io/*";
  await approve();
});

t.test("runMutating() lets our own steps look again after strangers changed the object, once", async (t) => {
  const calls: string[] = [];
  const own: AdmissionPlugin = { name: "own", handles: () => true, mutate: () => void calls.push("own") };
  const stranger: AdmissionPlugin = {
    name: "stranger",
    handles: () => true,
    mutate({ object }) {
      calls.push("stranger");
      if (object) object.changed = true;
    },
    reinvoke: () => void calls.push("reinvoke"),
  };
  await runMutating([own, stranger], createRequest(podOf({}), pods), uninterrupted);
  t.same(calls, ["own", "stranger", "own", "reinvoke"]);
});

t.test("every step opens, each with its own name", async (t) => {
  const { steps } = await opened(t, ...admissionPlugins);
  t.equal(steps.length, admissionPlugins.length);
});
