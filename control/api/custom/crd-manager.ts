// Serves what CustomResourceDefinitions define: registers their versions as soon as they are written, says so in their
// status, and empties them before they go.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { WebhookReach } from "../../../plugins/kit/kube/client-config.ts";
import { openCel } from "../../../plugins/kit/kube/cel.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { type Convert, renamed } from "../../resources/crd/conversion.ts";
import { customDefinition } from "../../resources/crd/custom-definition.ts";
import { hasRules, SchemaRules } from "../../resources/crd/rules.ts";
import {
  cleanupFinalizer,
  type Crd,
  type CrdCondition,
  type CrdNames,
  crdRef,
  type CrdVersion,
  hasCondition,
} from "../../resources/crd/types.ts";
import { deepEqual } from "../../machinery/equal.ts";
import type { Informers } from "../../storage/cache-informer.ts";
import { timestamp } from "../lifecycle.ts";
import type { Services } from "../scope.ts";
import { conversionWebhook } from "./conversion-webhook.ts";
import { acceptNames, type NamesVerdict } from "./names.ts";

const cleanupPauseMs = 200;
const tryAgainMs = 2000;
/** How long other servers may take to hear of something. */
const hearsayMs = 1000;

interface Registered {
  readonly generation: string;
  readonly crd: Crd;
}

export class CrdManager {
  readonly #services: Services;
  readonly #informers: Informers;
  readonly #call: Call;
  readonly #registered = new Map<string, Registered>();
  readonly #working = new Map<string, Promise<void>>();
  /** By uid, those that are being emptied. */
  readonly #cleaning = new Set<string>();
  /** Made when the first definition names a webhook. */
  #reach: WebhookReach | undefined;

  constructor(services: Services, informers: Informers, call: Call) {
    this.#services = services;
    this.#informers = informers;
    this.#call = call;
  }

  /** Resolves when what was there from the start is served. */
  async start(): Promise<void> {
    this.#informers.for<Crd>(crdRef).onEvent(({ type, object }) => {
      const name = object.metadata.name ?? "";
      if (type !== "delete") return this.#later(name);
      this.#remove(name);
      this.#lookAgainBeside(object);
    });
    await this.settled();
  }

  /** Resolves when what was known by now is served. */
  async settled(): Promise<void> {
    await Promise.all(this.#working.values());
  }

  /** The definitions being served, for OpenAPI. */
  served(): Iterable<Crd> {
    return [...this.#registered.values()].map(({ crd }) => crd);
  }

  /** One definition is worked on at a time, in the order of its changes. Without rules it is served in the same turn. */
  #later(name: string): void {
    const before = this.#working.get(name);
    const work = (before ? before.then(() => this.#settle(name)) : this.#settle(name)).catch((error: unknown) =>
      this.#told(error, name, "cannot serve a CustomResourceDefinition"),
    );
    this.#working.set(name, work);
    void work.then(() => {
      if (this.#working.get(name) === work) this.#working.delete(name);
    });
  }

  /** Brings what is served in line with the definition as it is now, whatever change brought us here. */
  async #settle(name: string): Promise<void> {
    const crd = this.#informers.for<Crd>(crdRef).get("", name);
    if (!crd) return;
    const verdict = acceptNames(crd, this.#namesBeside(crd));
    // One that was accepted once goes on with the names that it has.
    if (!verdict.conflict || hasCondition(crd, "Established")) {
      const needsRules = crd.spec.versions.some((version) => hasRules(version.schema?.openAPIV3Schema));
      if (needsRules) await openCel();
      await this.#register({ ...crd, spec: { ...crd.spec, names: verdict.names } }, needsRules);
    }
    if (await this.#updateStatus(crd, verdict)) this.#lookAgainBeside(crd);
    if (crd.metadata.deletionTimestamp !== undefined) this.#cleanUpOnce(crd);
  }

  /** What holds its objects may hold them for long: nobody waits for that. */
  #cleanUpOnce(crd: Crd): void {
    const uid = crd.metadata.uid ?? "";
    if (this.#cleaning.has(uid)) return;
    this.#cleaning.add(uid);
    void this.#cleanUpAtLast(crd).finally(() => this.#cleaning.delete(uid));
  }

  async #cleanUpAtLast(crd: Crd): Promise<void> {
    while (!this.#call.signal.aborted) {
      try {
        return await this.#cleanUp(crd);
      } catch (error) {
        this.#told(error, crd.metadata.name, "cannot empty a CustomResourceDefinition yet");
        await this.#services.clock.sleep(tryAgainMs, this.#call).catch(() => {}); // the loop sees that it was stopped
      }
    }
  }

  #told(err: unknown, crd: string | undefined, what: string): void {
    if (!this.#call.signal.aborted) this.#services.log.error({ err, crd }, what);
  }

  async #register(crd: Crd, needsRules: boolean): Promise<void> {
    const name = crd.metadata.name ?? "";
    const generation = `${crd.metadata.uid}/${crd.metadata.generation ?? 0}/${crd.metadata.deletionTimestamp ?? ""}/${crd.status?.storedVersions?.join() ?? ""}/${JSON.stringify(crd.spec.names)}`;
    const known = this.#registered.get(name);
    if (known?.generation === generation) return;
    const cel = needsRules ? await openCel() : undefined;
    this.#registered.set(name, { generation, crd });
    const { registry } = this.#services;
    const { group, names } = crd.spec;
    for (const version of known?.crd.spec.versions ?? [])
      if (!crd.spec.versions.some((one) => one.name === version.name && one.served))
        registry.remove({ group, version: version.name, plural: names.plural });
    for (const version of crd.spec.versions) {
      if (!version.served) continue;
      const schema = version.schema?.openAPIV3Schema;
      const rules = cel && schema ? new SchemaRules(cel, schema) : undefined;
      registry.add(customDefinition(crd, version, rules, this.#convertFor(crd)));
    }
  }

  #convertFor({ spec: { conversion } }: Crd): Convert {
    const { strategy, webhook } = conversion ?? {};
    if (strategy !== "Webhook" || !webhook) return renamed;
    this.#reach ??= new WebhookReach({ informer: (ref) => this.#informers.for(ref) });
    return conversionWebhook(webhook, this.#reach);
  }

  /** Drops connections to webhooks. */
  close(): void {
    this.#reach?.close();
  }

  #remove(name: string): void {
    const known = this.#registered.get(name);
    this.#registered.delete(name);
    const { group, names, versions } = known?.crd.spec ?? {
      group: "",
      names: { plural: "" },
      versions: [] as CrdVersion[],
    };
    for (const version of versions)
      this.#services.registry.remove({ group, version: version.name, plural: names.plural });
  }

  /**
   * The names of the other definitions of its group: those they have, and of one that nobody has judged yet those it wants, if it was
   * there first. Every server comes to the same, in whichever order it meets them.
   */
  #namesBeside({ metadata, spec }: Crd): CrdNames[] {
    const entries = this.#services.cache.cache(crdRef);
    const bornAt = (name = "") => entries.get(name)?.createRevision ?? 0;
    return this.#group(spec.group, metadata.name).flatMap(({ metadata: other, spec: wanted, status }) => {
      if (status?.conditions?.length) return status?.acceptedNames ?? [];
      return bornAt(other.name) < bornAt(metadata.name) ? wanted.names : [];
    });
  }

  #group(group: string, without: string | undefined): Crd[] {
    const all = this.#informers.for<Crd>(crdRef).list();
    return all.filter(({ metadata, spec }) => spec.group === group && metadata.name !== without);
  }

  /** A name may have become free. */
  #lookAgainBeside({ metadata, spec }: Crd): void {
    for (const other of this.#group(spec.group, metadata.name))
      if (!hasCondition(other, "NamesAccepted")) this.#later(other.metadata.name ?? "");
  }

  /** Says whether it is called otherwise now. */
  async #updateStatus(crd: Crd, verdict: NamesVerdict): Promise<boolean> {
    const now = timestamp(this.#services.clock.now());
    let isRenamed = false;
    await this.#services.storage.update(
      crdRef,
      "",
      crd.metadata.name ?? "",
      (current) => {
        const next = current.copy() as Crd;
        const status = { ...next.status };
        isRenamed = !deepEqual(status.acceptedNames, verdict.names);
        status.conditions = conditionsOf(next, verdict.conflict, now);
        status.acceptedNames = verdict.names;
        const storage = next.spec.versions.find((version) => version.storage)?.name;
        const stored = status.storedVersions ?? [];
        status.storedVersions = storage && !stored.includes(storage) ? [...stored, storage] : stored;
        if (deepEqual(status, next.status)) return { do: "nothing" };
        next.status = status;
        return { do: "put", object: next };
      },
      this.#call,
    );
    return isRenamed;
  }

  /** Deletes every object of the kind, waits until their finalizers are done, and lets the definition go. */
  async #cleanUp(crd: Crd): Promise<void> {
    if (!crd.metadata.finalizers?.includes(cleanupFinalizer)) return;
    const { storage, cache, clock, store } = this.#services;
    if (store.newest) {
      // Until then they make objects of it, which nobody would ever delete.
      await clock.sleep(hearsayMs, this.#call);
      await cache.caughtUp(this.#call);
    }
    const ref = { group: crd.spec.group, plural: crd.spec.names.plural };
    const now = timestamp(clock.now());
    while (cache.cache(ref).size > 0) {
      for (const entry of cache.cache(ref).sorted())
        await storage.update(ref, entry.namespace, entry.name, (current) => removal(current.copy(), now), this.#call);
      if (cache.cache(ref).size > 0) await clock.sleep(cleanupPauseMs, this.#call);
    }
    await storage.update(
      crdRef,
      "",
      crd.metadata.name ?? "",
      (current) => {
        const next = current.copy();
        next.metadata.finalizers = (next.metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer);
        if (next.metadata.finalizers.length === 0) return { do: "delete" };
        return { do: "put", object: next };
      },
      this.#call,
    );
  }
}

function removal(object: KubeObject, now: string) {
  if ((object.metadata.finalizers?.length ?? 0) === 0) return { do: "delete" as const };
  if (object.metadata.deletionTimestamp !== undefined) return { do: "nothing" as const };
  object.metadata.deletionTimestamp = now;
  object.metadata.deletionGracePeriodSeconds = 0;
  return { do: "put" as const, object };
}

function conditionsOf(crd: Crd, conflict: NamesVerdict["conflict"], now: string): CrdCondition[] {
  const wanted: CrdCondition[] = [
    conflict
      ? { type: "NamesAccepted", status: "False", ...conflict }
      : { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" },
    conflict && !hasCondition(crd, "Established")
      ? { type: "Established", status: "False", reason: "NotAccepted", message: "not all names are accepted" }
      : {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        },
  ];
  if (crd.metadata.deletionTimestamp !== undefined)
    wanted.push({
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionInProgress",
      message: "CustomResource deletion is in progress",
    });
  return wanted.map((condition) => {
    const before = crd.status?.conditions?.find(
      (one) => one.type === condition.type && one.status === condition.status,
    );
    return { lastTransitionTime: before?.lastTransitionTime ?? now, ...condition };
  });
}
