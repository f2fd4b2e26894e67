// Where the credentials of a kubeconfig's user come from: the file itself, files that it names, or a program.

import { dirname, resolve } from "node:path";
import type { Call } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";
import { readBounded } from "../../os/platform/files.ts";
import { ExecCredentials } from "./exec-credentials.ts";
import { type ClusterEntry, fileOrData, type Place, type UserEntry } from "./kubeconfig-entries.ts";

/** What proves who we are, for the next request. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface CredentialSource {
  /** False when the credentials are what they are, whatever the server says of them. */
  readonly canChange: boolean;
  current(call: Call): Promise<Credentials>;
  /** The server refused what `current` gave: the next time it is asked anew. */
  refused(): void;
}

const reReadMs = 60_000;
const largestToken = 64 * 1024;

export function credentialsOf(user: UserEntry, cluster: ClusterEntry, place: Place): CredentialSource {
  const impersonation = impersonationHeaders(user);
  if (user.exec) return new ExecCredentials(user.exec, cluster, impersonation, place);
  const isFromFiles = Boolean(user.tokenFile || user["client-certificate"] || user["client-key"]);
  const read = (): Credentials => {
    const cert = fileOrData(user, "client-certificate", place);
    const key = fileOrData(user, "client-key", place);
    if (Boolean(cert) !== Boolean(key))
      throw new Fault(
        "invalid",
        `Cannot use ${place.path}: a client certificate needs its key, and a key its certificate`,
      );
    return { cert, key, headers: { ...impersonation, ...authorization(user, place) } };
  };
  return isFromFiles ? new AgeingCredentials(read, place) : new FixedCredentials(read());
}

function authorization(user: UserEntry, place: Place): Record<string, string> {
  // A token's file comes before the token, as client-go has it.
  const token = user.tokenFile
    ? readBounded(resolve(dirname(place.path), user.tokenFile), largestToken)
        .toString("utf8")
        .trim()
    : user.token;
  if (token) return { authorization: `Bearer ${token}` };
  if (!user.username) return {};
  return { authorization: `Basic ${Buffer.from(`${user.username}:${user.password ?? ""}`).toString("base64")}` };
}

function impersonationHeaders(user: UserEntry): Record<string, string> {
  if (!user.as) return {};
  // Joined below and sent as one header for each: a comma would make two groups of one.
  const odd = user["as-groups"]?.find((group) => group.includes(","));
  if (odd !== undefined)
    throw new Fault("invalid", `Cannot impersonate group ${JSON.stringify(odd)}: it contains a comma`);
  return {
    "impersonate-user": user.as,
    ...(user["as-uid"] ? { "impersonate-uid": user["as-uid"] } : {}),
    ...(user["as-groups"]?.length ? { "impersonate-group": user["as-groups"].join(", ") } : {}),
  };
}

class FixedCredentials implements CredentialSource {
  readonly canChange = false;
  readonly #credentials: Credentials;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
  }

  async current(): Promise<Credentials> {
    return this.#credentials;
  }

  refused(): void {}
}

/** Credentials in files that others replace from time to time: read again once a minute, and at once when refused. */
class AgeingCredentials implements CredentialSource {
  readonly canChange = true;
  readonly #read: () => Credentials;
  readonly #place: Place;
  #known: { credentials: Credentials; at: number } | undefined;
  #isSuspect = false;

  constructor(read: () => Credentials, place: Place) {
    this.#read = read;
    this.#place = place;
  }

  async current(): Promise<Credentials> {
    const now = this.#place.clock.monotonic();
    if (this.#known && !this.#isSuspect && now - this.#known.at < reReadMs) return this.#known.credentials;
    try {
      this.#known = { credentials: this.#read(), at: now };
    } catch (error) {
      // In the middle of a replacement: what worked a minute ago is better than nothing.
      if (!this.#known) throw error;
      this.#known.at = now;
    }
    this.#isSuspect = false;
    return this.#known.credentials;
  }

  refused(): void {
    this.#isSuspect = true;
  }
}
