// The groups and versions that other servers answer: found by APIService, watched for whether they can be used. A cluster
// without any pays for one look at an empty map in each request.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { type ApiService, apiServiceRef } from "../../resources/registration/types.ts";
import type { Informers } from "../../storage/cache-informer.ts";
import type { Services } from "../scope.ts";
import { examine, tell } from "./availability.ts";
import { Remote, type RemoteTools } from "./remote.ts";

const checkEveryMs = 30_000;
const firstRetryMs = 1000;

interface Watched {
  readonly remote: Remote;
  /** Set while a check is under way; true when another is wanted after it. */
  checking: { again: boolean } | undefined;
  failures: number;
  cancel: () => void;
}

export class Remotes {
  readonly #services: Services;
  readonly #informers: Informers;
  readonly #tools: RemoteTools;
  readonly #call: Call;
  readonly #byName = new Map<string, Watched>();
  #unfollow: (() => void)[] = [];
  #generation = 0;

  constructor(services: Services, informers: Informers, credentials: RemoteTools["credentials"], call: Call) {
    this.#services = services;
    this.#informers = informers;
    this.#tools = { view: { informer: (ref) => informers.for(ref) }, credentials };
    this.#call = call;
  }

  start(): void {
    this.#informers.for<ApiService>(apiServiceRef).onEvent(({ type, object }) => {
      const name = object.metadata.name ?? "";
      if (type === "delete" || !object.spec.service) this.#forget(name);
      else this.#learn(name, object);
    });
  }

  /** Rises with every change of what is served elsewhere. */
  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string): Remote | undefined {
    if (this.#byName.size === 0) return undefined;
    return this.#byName.get(`${version}.${group}`)?.remote;
  }

  all(): Remote[] {
    return [...this.#byName.values()].map(({ remote }) => remote);
  }

  close(): void {
    for (const name of this.#byName.keys()) this.#forget(name);
  }

  #learn(name: string, service: ApiService): void {
    let watched = this.#byName.get(name);
    if (watched) {
      if (JSON.stringify(watched.remote.service.spec) === JSON.stringify(service.spec)) return;
      watched.remote.update(service);
    } else {
      watched = { remote: new Remote(service, this.#tools), checking: undefined, failures: 0, cancel: () => {} };
      this.#byName.set(name, watched);
      if (this.#unfollow.length === 0) this.#follow();
    }
    this.#generation++;
    this.#check(name, watched);
  }

  #forget(name: string): void {
    const watched = this.#byName.get(name);
    if (!watched) return;
    this.#byName.delete(name);
    this.#generation++;
    watched.cancel();
    watched.remote.close();
    if (this.#byName.size > 0) return;
    for (const stop of this.#unfollow) stop();
    this.#unfollow = [];
  }

  /** A service or endpoint that comes or goes changes what can be used at once. */
  #follow(): void {
    const look = (namespace: string | undefined, service: string | undefined) => {
      for (const [name, watched] of this.#byName) {
        const { spec } = watched.remote.service;
        if (spec.service?.namespace === namespace && spec.service?.name === service) this.#check(name, watched);
      }
    };
    const slices = this.#informers.for<KubeObject>({ group: "discovery.k8s.io", plural: "endpointslices" });
    const services = this.#informers.for<KubeObject>({ group: "", plural: "services" });
    this.#unfollow = [
      services.onEvent(({ object: { metadata } }) => look(metadata.namespace, metadata.name)),
      slices.onEvent(({ object: { metadata } }) =>
        look(metadata.namespace, metadata.labels?.["kubernetes.io/service-name"]),
      ),
    ];
  }

  #check(name: string, watched: Watched): void {
    if (watched.checking) {
      watched.checking.again = true;
      return;
    }
    const checking = { again: false };
    watched.checking = checking;
    watched.cancel();
    this.#examine(name, watched)
      .catch((error: unknown) => {
        if (!this.#call.signal.aborted)
          this.#services.log.error({ err: error, apiService: name }, "cannot tell whether an APIService is available");
      })
      .finally(() => {
        watched.checking = undefined;
        if (this.#call.signal.aborted || this.#byName.get(name) !== watched) return;
        if (checking.again) return this.#check(name, watched);
        const pause = Math.min(
          checkEveryMs,
          watched.failures === 0 ? checkEveryMs : firstRetryMs * 2 ** watched.failures,
        );
        watched.cancel = this.#services.clock.after(pause, () => this.#check(name, watched));
      });
  }

  async #examine(name: string, watched: Watched): Promise<void> {
    const { remote } = watched;
    const before = JSON.stringify([remote.isAvailable, remote.told]);
    const finding = await examine(remote, this.#tools.view, this.#call);
    if (this.#byName.get(name) !== watched) return;
    const wasAvailable = remote.isAvailable;
    remote.isAvailable = finding.status === "True";
    if (wasAvailable && !remote.isAvailable) this.#services.metrics.apiServiceLost(name, finding.reason ?? "");
    watched.failures = remote.isAvailable ? 0 : watched.failures + 1;
    if (JSON.stringify([remote.isAvailable, remote.told]) !== before) this.#generation++;
    await tell(this.#services, name, finding, this.#call);
  }
}
