// Credential provider programs, as kubelet's CredentialProviderConfig names them: asked for images they match, with their answers kept for as
// long as they say.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { runChecked } from "../../plugins/kit/os/platform/process.ts";
import { requireTrustedFile } from "../../plugins/kit/os/platform/trusted-file.ts";
import { durationOf } from "../config/eviction-thresholds.ts";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import { type Credential, entriesOf, fits, matching } from "./credentials.ts";
import type { CredentialSource } from "./image-manager.ts";
import type { ImageReference } from "../model/image-reference.ts";

interface Provider {
  readonly name: string;
  readonly apiVersion?: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { name: string; value: string }[];
}

interface Answer {
  readonly cacheKeyType?: "Image" | "Registry" | "Global";
  readonly cacheDuration?: string;
  readonly auth?: Record<string, { username?: string; password?: string }>;
}

const longestRunMs = 60_000;

/** One source for each provider of the file. Fault `invalid` that names the file when it is not usable. */
export async function credentialProviders(options: {
  configPath: string;
  binDir: string;
  clock: Clock;
  log: Log;
}): Promise<CredentialSource[]> {
  requireTrustedFile(options.configPath, "Cannot use the credential providers");
  const content = readYaml(await readFile(options.configPath, "utf8"), options.configPath);
  const { providers } = (content ?? {}) as { providers?: Provider[] };
  if (!Array.isArray(providers))
    throw new Fault("invalid", `Cannot use ${options.configPath}: it has no list of providers`);
  for (const { name, matchImages } of providers) {
    if (!name || name.includes("/") || !Array.isArray(matchImages) || matchImages.length === 0) {
      throw new Fault(
        "invalid",
        `Cannot use ${options.configPath}: provider "${name}" needs a plain name and matchImages`,
      );
    }
  }
  return providers.map((provider) => new ProviderProgram(provider, options.binDir, options.clock, options.log));
}

class ProviderProgram implements CredentialSource {
  readonly #provider: Provider;
  readonly #program: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #kept = new Map<string, { until: number; entries: ReturnType<typeof entriesOf> }>();

  constructor(provider: Provider, binDir: string, clock: Clock, log: Log) {
    this.#provider = provider;
    this.#program = join(binDir, provider.name);
    this.#clock = clock;
    this.#log = log;
  }

  async credentials(image: ImageReference, call: Call): Promise<readonly Credential[]> {
    if (!this.#provider.matchImages.some((pattern) => fits(pattern, image))) return [];
    const keys = [repositoryOf(image), image.registry, "*"];
    for (const key of keys) {
      const known = this.#kept.get(key);
      if (known && known.until > this.#clock.monotonic()) return matching(known.entries, image);
    }
    try {
      return await this.#ask(image, call);
    } catch (error) {
      // The image may be public, or another source may know it.
      this.#log.warn({ provider: this.#provider.name, image: image.name, err: error }, "a credential provider failed");
      return [];
    }
  }

  async #ask(image: ImageReference, call: Call): Promise<readonly Credential[]> {
    const { apiVersion = "credentialprovider.kubelet.k8s.io/v1", args = [], env = [] } = this.#provider;
    const input = JSON.stringify({ kind: "CredentialProviderRequest", apiVersion, image: repositoryOf(image) });
    requireTrustedFile(this.#program, `Cannot run credential provider "${this.#provider.name}"`);
    const environment = { ...(process.env as Record<string, string>) };
    for (const { name, value } of env) environment[name] = value;
    const output = await runChecked(this.#program, args, { input, env: environment, timeoutMs: longestRunMs }, call);
    const answer = JSON.parse(output) as Answer;
    const entries = entriesOf(answer.auth ?? {});
    const { cacheDuration = this.#provider.defaultCacheDuration ?? "0s" } = answer;
    const keptMs = durationOf(cacheDuration, `cacheDuration of credential provider "${this.#provider.name}"`);
    const key =
      answer.cacheKeyType === "Global"
        ? "*"
        : answer.cacheKeyType === "Registry"
          ? image.registry
          : repositoryOf(image);
    if (keptMs > 0) this.#kept.set(key, { until: this.#clock.monotonic() + keptMs, entries });
    return matching(entries, image);
  }
}

/** What upstream tells a provider: neither tag nor digest. */
function repositoryOf({ registry, path }: ImageReference): string {
  return `${registry}/${path}`;
}
