// Answers a registry's challenge: a bearer token from the realm it names, or basic credentials. Keeps tokens until they expire.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../../plugins/kit/base/fetch.ts";
import { collect } from "./content-store.ts";
import { basicOf, type RegistryCredentials } from "./registry-config.ts";

interface Challenge {
  scheme: "basic" | "bearer";
  realm?: string;
  service?: string;
  scope?: string;
}

const defaultTokenSeconds = 60;

export class RegistryAuth {
  readonly #credentials: RegistryCredentials | undefined;
  readonly #fetch: Fetch;
  readonly #clock: Clock;
  readonly #host: string;
  #header: { value: string; until: number } | undefined;

  constructor(options: { host: string; credentials: RegistryCredentials | undefined; fetch: Fetch; clock: Clock }) {
    this.#host = options.host;
    this.#credentials = options.credentials;
    this.#fetch = options.fetch;
    this.#clock = options.clock;
    const token = options.credentials?.registryToken;
    if (token) this.#header = { value: `Bearer ${token}`, until: Number.POSITIVE_INFINITY };
  }

  /** What to send as Authorization, if anything is known yet. */
  header(): string | undefined {
    return this.#header && this.#header.until > this.#clock.monotonic() ? this.#header.value : undefined;
  }

  /** Learns from a 401 what to send; throws `unauthorized` when there is nothing to answer with. */
  async answer(response: Response, scope: string, call: Call): Promise<void> {
    const challenge = parseChallenge(response.headers.get("www-authenticate") ?? "");
    if (!challenge) throw this.#refused("its challenge is not understood");
    const basic = basicOf(this.#credentials);
    if (challenge.scheme === "basic") {
      if (!basic) throw this.#refused("it wants a user and password, and none are given");
      this.#header = { value: `Basic ${basic}`, until: Number.POSITIVE_INFINITY };
      return;
    }
    const realm = new URL(challenge.realm ?? "");
    const isPlain = realm.protocol === "http:";
    if (isPlain && new URL(response.url || realm.href).protocol === "https:") {
      throw this.#refused(`it sends to "${realm.origin}" for a token, which is not encrypted`);
    }
    const token = await this.#token(realm, challenge, challenge.scope ?? scope, basic, call);
    const seconds = typeof token.expires_in === "number" ? token.expires_in : defaultTokenSeconds;
    const value = token.token ?? token.access_token;
    if (typeof value !== "string" || value === "") throw this.#refused("the token service gave no token");
    this.#header = { value: `Bearer ${value}`, until: this.#clock.monotonic() + seconds * 900 };
  }

  async #token(realm: URL, challenge: Challenge, scope: string, basic: string | undefined, call: Call) {
    const refresh = this.#credentials?.identityToken;
    let request: Request;
    if (refresh) {
      const body = new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: refresh,
        client_id: "skiff",
        scope,
      });
      if (challenge.service) body.set("service", challenge.service);
      request = new Request(realm, { method: "POST", body, signal: call.signal, redirect: "error" });
    } else {
      if (challenge.service) realm.searchParams.set("service", challenge.service);
      for (const one of scope.split(" ").filter(Boolean)) realm.searchParams.append("scope", one);
      const headers: Record<string, string> = basic ? { authorization: `Basic ${basic}` } : {};
      request = new Request(realm, { headers, signal: call.signal, redirect: "error" });
    }
    const response = await this.#fetch(request);
    const body = response.body ? await collect(response.body, `token for ${this.#host}`) : Buffer.alloc(0);
    if (response.status === 401 || response.status === 403) throw this.#refused("the credentials are not accepted");
    if (!response.ok) {
      throw new Fault(
        "unavailable",
        `Cannot get a token for registry ${this.#host}: ${realm.host} answered ${response.status}`,
      );
    }
    try {
      return JSON.parse(body.toString("utf8")) as { token?: unknown; access_token?: unknown; expires_in?: unknown };
    } catch (cause) {
      throw new Fault("unavailable", `Cannot get a token for registry ${this.#host}: the answer is not JSON`, {
        cause,
      });
    }
  }

  #refused(why: string): Fault {
    return new Fault("unauthorized", `Cannot log in to registry ${this.#host}: ${why}`);
  }
}

function parseChallenge(header: string): Challenge | undefined {
  const match = /\b(bearer|basic)\b\s*(.*)/is.exec(header);
  if (!match) return undefined;
  const scheme = (match[1] as string).toLowerCase() as Challenge["scheme"];
  const challenge: Challenge = { scheme };
  for (const [, key, quoted, plain] of (match[2] ?? "").matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g)) {
    if (key === "realm" || key === "service" || key === "scope") challenge[key] = quoted ?? plain ?? "";
  }
  if (scheme === "bearer" && (!challenge.realm || !URL.canParse(challenge.realm))) return undefined;
  return challenge;
}
