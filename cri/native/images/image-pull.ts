// Pulls an image: mirrors in order, the manifest for this platform, config and layers in parallel, each download resumed where it
// broke. Adds the image only when every layer is unpacked.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import type { PullBoard, PullMeter } from "../../api/pull-board.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import { collect, digestOf } from "./content-store.ts";
import { inParallel } from "./in-parallel.ts";
import type { ImageRecord, ImageStore } from "./image-store.ts";
import {
  type Descriptor,
  type ImageConfig,
  type Manifest,
  parseImageConfig,
  parseManifest,
  type Platform,
} from "./manifest.ts";
import { choosePlatform } from "./platform.ts";
import { formatReference, type ImageReference, parseReference, repositoryName } from "./reference.ts";
import type { Fetch } from "../../../plugins/kit/base/fetch.ts";
import { RegistryClient } from "./registry-client.ts";
import { registryFetch } from "./registry-fetch.ts";
import { endpointsFor, type RegistriesConfig, type RegistryCredentials } from "./registry-config.ts";

export interface PullOptions {
  readonly store: ImageStore;
  readonly registries: RegistriesConfig;
  readonly platform: Platform;
  /** Instead of HTTP by the registries' settings. */
  readonly fetch?: Fetch;
  readonly clock: Clock;
  readonly log: Log;
  /** Where it is told how far each pull is. */
  readonly board: PullBoard;
}

const layersAtOnce = 3;
const downloadTries = 8;

export async function pullImage(
  name: string,
  credentials: RegistryCredentials | undefined,
  options: PullOptions,
  call: Call,
): Promise<ImageRecord> {
  const http = registryFetch(options.registries);
  const meter = options.board.begin(name);
  try {
    return await pullThrough(name, credentials, { ...options, fetch: options.fetch ?? http.fetch, meter }, call);
  } finally {
    meter.end();
    http.close();
  }
}

/** What one pull goes by. */
interface Pulling extends PullOptions {
  readonly fetch: Fetch;
  readonly meter: PullMeter;
}

async function pullThrough(
  name: string,
  credentials: RegistryCredentials | undefined,
  options: Pulling,
  call: Call,
): Promise<ImageRecord> {
  const reference = parseReference(name);
  let failure: unknown;
  for (const endpoint of endpointsFor(reference, options.registries)) {
    const standing = options.registries.configs?.[endpoint.host]?.auth;
    const client = new RegistryClient({
      endpoint,
      repository: reference.repository,
      registry: reference.registry,
      // What the pull brings is meant for the registry it names, never for a mirror.
      credentials: endpoint.isMirror ? standing : (credentials ?? standing),
      fetch: options.fetch,
      clock: options.clock,
    });
    try {
      return await options.store.busy(() => pullFrom(client, reference, options, call));
    } catch (error) {
      call.signal.throwIfAborted();
      failure = error;
      if (endpoint.isMirror)
        options.log.warn({ err: error, image: name, mirror: endpoint.host }, "mirror failed, trying the next");
    }
  }
  if (failure instanceof Fault) {
    throw new Fault(failure.code, `Cannot pull image "${formatReference(reference)}": ${failure.message}`, {
      cause: failure,
    });
  }
  throw failure;
}

async function pullFrom(
  client: RegistryClient,
  reference: ImageReference,
  options: Pulling,
  call: Call,
): Promise<ImageRecord> {
  const { store, meter } = options;
  const what = formatReference(reference);
  const top = await client.manifest(reference.digest ?? (reference.tag as string), call);
  const digest = digestOf(top);
  if (reference.digest !== undefined && reference.digest !== digest) {
    throw new Fault("invalid", `the manifest asked for as ${reference.digest} is ${digest}`);
  }
  const { manifest, documents } = await resolveManifest(client, top, what, options.platform, call);
  const configBytes = await collect(client.blob(manifest.config.digest, 0, call), `config of ${what}`);
  if (digestOf(configBytes) !== manifest.config.digest)
    throw new Fault("invalid", `its config is not what ${manifest.config.digest} says`);
  const config = parseImageConfig(configBytes, `config of ${what}`);
  checkLayers(manifest, config, what);
  const missing = manifest.layers
    .map((layer, index) => ({ layer, diffId: config.rootfs.diffIds[index] as string }))
    .filter(({ diffId }) => !store.layers.has(diffId));
  for (const { layer } of missing) meter.expect(layer.digest, layer.size);
  await inParallel(missing, layersAtOnce, call, async ({ layer, diffId }, inner) => {
    // The same layer may stand twice in an image, or have come with another.
    if (store.layers.has(diffId)) return meter.finish(layer.digest);
    await download(client, layer, what, options, inner);
    meter.finish(layer.digest);
    await store.layers.ensure(diffId, () => store.content.stream(layer.digest), inner);
    // The folder is what containers use; keeping the archive too would take the card's space twice.
    await store.content.remove(layer.digest);
  });
  const tag =
    reference.tag === undefined ? [] : [formatReference({ ...reference, tag: reference.tag }).split("@")[0] as string];
  return addImage(store, {
    documents: [...documents, configBytes],
    config,
    tags: reference.digest === undefined ? tag : [],
    digests: [`${repositoryName(reference)}@${digest}`],
    compressedBytes: manifest.layers.reduce((sum, layer) => sum + layer.size, 0),
  });
}

async function resolveManifest(client: RegistryClient, top: Buffer, what: string, platform: Platform, call: Call) {
  const documents = [top];
  let parsed = parseManifest(top, `manifest of ${what}`);
  for (let depth = 0; "index" in parsed; depth++) {
    if (depth === 2) throw new Fault("invalid", `indexes within indexes within indexes are not followed`);
    const chosen = choosePlatform(parsed.index, platform, what);
    const bytes = await client.manifest(chosen.digest, call);
    if (digestOf(bytes) !== chosen.digest)
      throw new Fault("invalid", `the manifest ${chosen.digest} arrived as ${digestOf(bytes)}`);
    documents.push(bytes);
    parsed = parseManifest(bytes, `manifest of ${what}`);
  }
  return { manifest: parsed.manifest, documents };
}

export function checkLayers(manifest: Manifest, config: ImageConfig, what: string): void {
  if (manifest.layers.length !== config.rootfs.diffIds.length) {
    const counts = `${manifest.layers.length} layers and ${config.rootfs.diffIds.length} diff ids`;
    throw new Fault("invalid", `Cannot use image ${what}: it has ${counts}`);
  }
}

async function download(
  client: RegistryClient,
  blob: Descriptor,
  what: string,
  options: Pulling,
  call: Call,
): Promise<void> {
  const tell = progressTeller(blob.digest, options.meter);
  for (let attempt = 1; ; attempt++) {
    try {
      return await options.store.content.ensure(
        blob,
        (offset, inner) => tell(offset, client.blob(blob.digest, offset, inner)),
        call,
      );
    } catch (error) {
      call.signal.throwIfAborted();
      if (!isFault(error, "unavailable") || attempt >= downloadTries) throw error;
      options.log.debug({ err: error, image: what }, "download broke, resuming");
      await options.clock.sleep(Math.min(10_000, 100 * 2 ** attempt), call);
    }
  }
}

function progressTeller(digest: string, meter: PullMeter) {
  return async function* (offset: number, source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    let bytes = offset;
    for await (const chunk of source) {
      yield chunk;
      bytes += chunk.length;
      meter.reach(digest, bytes);
    }
  };
}

export interface NewImage {
  /** Manifests and the config, the config last. */
  documents: Uint8Array[];
  config: ImageConfig;
  tags: string[];
  digests: string[];
  compressedBytes: number;
}

/** Records an image whose layers are all unpacked. */
export async function addImage(store: ImageStore, image: NewImage): Promise<ImageRecord> {
  const blobs: string[] = [];
  for (const document of image.documents) blobs.push(await store.content.put(document));
  store.layers.adoptImplied(image.config.rootfs.diffIds);
  return store.add({
    id: blobs.at(-1) as string,
    tags: image.tags,
    digests: image.digests,
    layers: image.config.rootfs.diffIds,
    blobs,
    bytes: image.compressedBytes,
    config: image.config,
    pinned: false,
  });
}
