// The objects that pods on this node refer to: asked of the API server each time, kept, and answered from what was kept when the API server
// cannot be reached. What is kept goes into the checkpoint, so that pods start after a reboot without a network.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Informer } from "../../plugins/kit/kube/informer.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type {
  ConfigMap,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  Service,
} from "../../plugins/kit/kube/objects/types.ts";
import type {
  CsiDriverObject,
  IssuedToken,
  PodObjects,
  TokenWish,
  TrustBundleWish,
  VolumeAttachmentObject,
} from "../../plugins/kit/contracts/pod-objects.ts";
import { labelSelectorOf } from "../../plugins/kit/kube/selector.ts";
import type { ReferencedObjects } from "../containers/environment.ts";
import { issuedIn, issueToken, tokenKind, tokenName, tokenObject } from "./kept-tokens.ts";
import { certificatesIn } from "./trust-bundles.ts";

export interface NodeObjectsOptions {
  /** Absent on a node that has no API server at all. */
  readonly client: ApiClient | undefined;
  readonly services: () => Pick<Informer<Service>, "list" | "isSynced"> | undefined;
  readonly node: () => Node | undefined;
  /** Told when something kept has changed. */
  readonly onKept: () => void;
}

interface TrustBundle {
  metadata: { name?: string; labels?: Record<string, string> };
  spec?: { trustBundle?: string; signerName?: string };
}

/** The newest first: 1.32 has the last alone, where it is switched on. */
const trustBundles: readonly ResourceRef[] = ["v1beta1", "v1alpha1"].map((version) => ({
  group: "certificates.k8s.io",
  version,
  plural: "clustertrustbundles",
  kind: "ClusterTrustBundle",
  namespaced: false,
}));

export class NodeObjects implements PodObjects, ReferencedObjects {
  readonly #options: NodeObjectsOptions;
  readonly #kept = new Map<string, KubeObject>();

  constructor(options: NodeObjectsOptions) {
    this.#options = options;
  }

  configMap(namespace: string, name: string, call: Call): Promise<ConfigMap> {
    return this.#get(resources.configmaps, namespace, name, call);
  }

  secret(namespace: string, name: string, call: Call): Promise<Secret> {
    return this.#get(resources.secrets, namespace, name, call);
  }

  persistentVolumeClaim(namespace: string, name: string, call: Call): Promise<PersistentVolumeClaim> {
    return this.#get(resources.persistentvolumeclaims, namespace, name, call);
  }

  persistentVolume(name: string, call: Call): Promise<PersistentVolume> {
    return this.#get(resources.persistentvolumes, "", name, call);
  }

  runtimeClass(name: string, call: Call): Promise<{ handler?: string }> {
    return this.#get(resources.runtimeclasses, "", name, call);
  }

  csiDriver(name: string, call: Call): Promise<CsiDriverObject> {
    return this.#get(resources.csidrivers, "", name, call);
  }

  volumeAttachment(name: string, call: Call): Promise<VolumeAttachmentObject> {
    return this.#get(resources.volumeattachments, "", name, call);
  }

  node(): Node | undefined {
    return this.#options.node();
  }

  services(): readonly Service[] {
    const informer = this.#options.services();
    return informer?.isSynced() ? informer.list() : (this.#keptOf("Service") as Service[]);
  }

  async token(wish: TokenWish, call: Call): Promise<IssuedToken> {
    const client = this.#client("a service account token");
    const key = keyOf(tokenKind, wish.pod.metadata.namespace ?? "", tokenName(wish));
    const known = this.#kept.get(key);
    try {
      const issued = await issueToken(client, wish, call);
      this.#kept.set(key, tokenObject(wish, issued));
      // The first one only: those that follow are written with whatever else changes, which spares the disk.
      if (!known) this.#options.onKept();
      return issued;
    } catch (error) {
      const issued = issuedIn(known);
      // An old one lets the pod start: nobody can be asked with a better one until the API server answers, which is asked for it again soon.
      if (!issued || call.signal.aborted || isRefusal(error)) throw error;
      return issued;
    }
  }

  async trustBundle(wish: TrustBundleWish, call: Call): Promise<string> {
    const [newest, ...older] = trustBundles as [ResourceRef, ...ResourceRef[]];
    let bundle = this.#trustBundle(newest, wish, call);
    for (const ref of older)
      bundle = bundle.catch((error: unknown) => {
        if (!isFault(error, "not-found")) throw error;
        return this.#trustBundle(ref, wish, call);
      });
    return bundle;
  }

  async #trustBundle(ref: ResourceRef, wish: TrustBundleWish, call: Call): Promise<string> {
    if (wish.name)
      return certificatesIn([(await this.#get<TrustBundle>(ref, "", wish.name, call)).spec?.trustBundle ?? ""]);
    const all = await this.#trustBundles(ref, call);
    // No selector selects nothing, an empty one everything.
    const selects = wish.labelSelector ? labelSelectorOf(wish.labelSelector) : undefined;
    const own = all.filter(
      ({ metadata, spec }) => spec?.signerName === wish.signerName && selects?.matches(metadata.labels),
    );
    if (own.length === 0) throw new Fault("not-found", `no trust bundle of signer "${wish.signerName}" is selected`);
    return certificatesIn(own.map((item) => item.spec?.trustBundle ?? ""));
  }

  async #trustBundles(ref: ResourceRef, call: Call): Promise<readonly TrustBundle[]> {
    try {
      const { items } = await this.#client("trust bundles").listAll<TrustBundle>(ref, {}, call);
      this.#keepAll(
        ref.kind,
        items.map((item) => ({ ...item, apiVersion: `${ref.group}/${ref.version}`, kind: ref.kind })),
      );
      return items;
    } catch (error) {
      const known = this.#keptOf(ref.kind);
      if (known.length === 0 || call.signal.aborted || isRefusal(error)) throw error;
      return known as unknown as TrustBundle[];
    }
  }

  /** Everything kept, for the checkpoint. */
  kept(): readonly KubeObject[] {
    if (this.#options.services()?.isSynced()) this.#keepAll("Service", this.services().map(slimService));
    return [...this.#kept.values()];
  }

  /** Takes back what a checkpoint held. */
  restore(objects: readonly KubeObject[]): void {
    for (const object of objects)
      this.#kept.set(keyOf(object.kind, object.metadata.namespace ?? "", object.metadata.name ?? ""), object);
  }

  /** Drops what no pod refers to any more. */
  retain(needed: ReadonlySet<KubeObject>): void {
    for (const [key, object] of this.#kept) if (!needed.has(object)) this.#kept.delete(key);
  }

  #keptOf(kind: string): KubeObject[] {
    return [...this.#kept.values()].filter((object) => object.kind === kind);
  }

  /** These are all that there are of the kind. */
  #keepAll(kind: string, objects: readonly KubeObject[]): void {
    for (const { metadata } of this.#keptOf(kind))
      this.#kept.delete(keyOf(kind, metadata.namespace ?? "", metadata.name ?? ""));
    this.restore(objects);
  }

  async #get<T>(ref: ResourceRef, namespace: string, name: string, call: Call): Promise<T> {
    const key = keyOf(ref.kind, namespace, name);
    const known = this.#kept.get(key);
    const { client } = this.#options;
    if (!client) {
      if (known) return known as T;
      throw new Fault(
        "not-found",
        `${ref.kind} "${namespace ? `${namespace}/` : ""}${name}" not found: there is no API server`,
      );
    }
    try {
      const address = ref.namespaced ? { namespace, name } : { name };
      const object = await client.get<KubeObject>(ref, address, call);
      this.#kept.set(key, { ...object, apiVersion: object.apiVersion ?? "v1", kind: ref.kind });
      if (known?.metadata.resourceVersion !== object.metadata.resourceVersion) this.#options.onKept();
      return object as T;
    } catch (error) {
      // Forbidden says as much as gone: an object that nothing of this node refers to any more is not told apart from a missing one.
      if (isFault(error, "not-found", "forbidden")) {
        if (this.#kept.delete(key)) this.#options.onKept();
      } else if (known && !call.signal.aborted) return known as T;
      throw error;
    }
  }

  #client(what: string): ApiClient {
    const { client } = this.#options;
    if (!client) throw new Fault("unavailable", `Cannot get ${what}: this node has no API server`);
    return client;
  }
}

/** The API server has answered, and an older answer would be wrong. */
function isRefusal(error: unknown): boolean {
  return ["not-found", "forbidden", "unauthorized", "invalid"].some((code) => isFault(error, code as Fault["code"]));
}

/** What variables of containers tell of a service. */
function slimService({ metadata: { namespace = "", name = "" }, spec }: Service): KubeObject {
  const { clusterIP, ports } = spec ?? {};
  return { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec: { clusterIP, ports } };
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}
