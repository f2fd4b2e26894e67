// projected: config maps, secrets, the downward API, trust bundles and service account tokens in one directory.
// Tokens are asked for anew when four fifths of their life are over, or after a day, as upstream does it.

import type { Call } from "../kit/base/call.ts";
import type { Clock } from "../kit/base/clock.ts";
import { Fault } from "../kit/base/fault.ts";
import type { Pod, Volume } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { type IssuedToken, type PodObjects, podObjectsKind } from "../kit/contracts/pod-objects.ts";
import { type VolumeMountRequest, type VolumePlugin, volumeKind } from "../kit/contracts/volume.ts";
import type { Content, ContentFile } from "./atomic-content.ts";
import { contentVolume, orAbsent } from "./content-volume.ts";
import { type DownwardItem, downwardContent } from "./downward-content.ts";
import { configMapData, secretData, selectKeys } from "./keyed-content.ts";

type Projection = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];

const dayMs = 24 * 3_600_000;

/** Tokens in use, by pod, audience and lifetime: refresh must not ask for a new one each time. */
class TokenShelf {
  readonly #tokens = new Map<string, IssuedToken>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async get(objects: PodObjects, pod: Pod, audience: string, expirationSeconds: number, call: Call): Promise<string> {
    const key = `${pod.metadata.uid}/${audience}/${expirationSeconds}`;
    const known = this.#tokens.get(key);
    if (known && !this.#isDue(known)) return known.token;
    try {
      const fresh = await objects.token({ pod, audiences: audience ? [audience] : [], expirationSeconds }, call);
      this.#tokens.set(key, fresh);
      return fresh.token;
    } catch (error) {
      // The old one still serves until it expires: the API server may be back by then.
      if (known && known.expiresAt > this.#clock.now()) return known.token;
      throw error;
    }
  }

  forget(podUid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${podUid}/`)) this.#tokens.delete(key);
  }

  #isDue({ issuedAt, expiresAt }: IssuedToken): boolean {
    const now = this.#clock.now();
    return now >= issuedAt + (expiresAt - issuedAt) * 0.8 || now >= issuedAt + dayMs;
  }
}

/** The user that every container of the pod runs as; undefined where one names none, or another. */
function onlyUser({ spec }: Pod): number | undefined {
  const containers = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const users = containers.map(({ securityContext }) => securityContext?.runAsUser ?? spec?.securityContext?.runAsUser);
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}

async function project(
  request: VolumeMountRequest,
  source: Projection,
  defaultMode: number,
  objects: PodObjects,
  tokens: TokenShelf,
  call: Call,
): Promise<Content> {
  const { pod } = request;
  const namespace = pod.metadata.namespace ?? "";
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  if (configMap) {
    const found = await orAbsent(configMap.optional, objects.configMap(namespace, configMap.name ?? "", call));
    const what = `configmap "${configMap.name}"`;
    return selectKeys(configMapData(found), {
      items: configMap.items,
      defaultMode,
      optional: configMap.optional ?? false,
      what,
    });
  }
  if (secret) {
    const found = await orAbsent(secret.optional, objects.secret(namespace, secret.name ?? "", call));
    const what = `secret "${secret.name}"`;
    return selectKeys(secretData(found), {
      items: secret.items,
      defaultMode,
      optional: secret.optional ?? false,
      what,
    });
  }
  if (downwardAPI) return downwardContent(pod, (downwardAPI.items ?? []) as DownwardItem[], defaultMode, objects);
  if (serviceAccountToken) {
    const { audience = "", expirationSeconds = 3600, path } = serviceAccountToken;
    const token = await tokens.get(objects, pod, audience, expirationSeconds, call);
    // Readable by the pod's group or its one user alone, where it has them.
    const owner = onlyUser(pod);
    const mode = request.fsGroup === undefined && owner === undefined ? defaultMode : 0o600;
    return new Map([[path, { data: Buffer.from(token), mode, ...(owner === undefined ? {} : { owner }) }]]);
  }
  if (clusterTrustBundle) {
    const { name, signerName, labelSelector, optional, path } = clusterTrustBundle;
    const wish = {
      ...(name ? { name } : {}),
      ...(signerName ? { signerName } : {}),
      ...(labelSelector ? { labelSelector } : {}),
    };
    const bundle = await orAbsent(optional, objects.trustBundle(wish, call));
    return new Map([[path, { data: Buffer.from(bundle ?? ""), mode: defaultMode }]]);
  }
  return new Map();
}

export const projected: Plugin<VolumePlugin> = {
  kind: volumeKind,
  name: "projected",
  needs: [podObjectsKind],
  open(host) {
    const tokens = new TokenShelf(host.clock);
    const volume = contentVolume({
      name: "kubernetes.io/projected",
      inMemory: true,
      clock: host.clock,
      supports: (candidate) => candidate.projected !== undefined,
      async content(request, call) {
        const [objects] = host.all(podObjectsKind);
        if (!objects)
          throw new Fault(
            "unavailable",
            `Cannot fill volume "${request.volume.name}": nothing tells the objects behind it`,
          );
        const defaultMode = request.volume.projected?.defaultMode ?? 0o644;
        const content = new Map<string, ContentFile>();
        for (const source of request.volume.projected?.sources ?? []) {
          for (const [path, file] of await project(request, source, defaultMode, objects, tokens, call))
            content.set(path, file);
        }
        return content;
      },
    });
    return {
      ...volume,
      async unmount(path, call) {
        tokens.forget(/\/pods\/([^/]+)\/volumes\//.exec(path)?.[1] ?? "");
        await volume.unmount(path, call);
      },
    };
  },
};
