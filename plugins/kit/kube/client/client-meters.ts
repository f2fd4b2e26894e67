// What is asked of an API server and how long its answers take, under the names that client libraries tell it by.

import type { Clock } from "../../base/clock.ts";
import type { Fetch } from "../../base/fetch.ts";
import type { Counter, Histogram, Meters } from "../../base/meters.ts";

// Upstream's.
const buckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export class ClientMeters {
  readonly #requests: Counter;
  readonly #seconds: Histogram;

  constructor(meters: Meters) {
    this.#requests = meters.counter(
      "rest_client_requests_total",
      "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
    );
    this.#seconds = meters.histogram(
      "rest_client_request_duration_seconds",
      "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
      buckets,
    );
  }

  /** The same fetch, measured. */
  measured(fetch: Fetch, clock: Clock, host: string): Fetch {
    return async (request) => {
      const startedAt = clock.monotonic();
      const { method } = request;
      try {
        const response = await fetch(request);
        this.#requests.add({ code: String(response.status), host, method });
        return response;
      } catch (error) {
        this.#requests.add({ code: "<error>", host, method });
        throw error;
      } finally {
        this.#seconds.observe({ host, verb: method }, (clock.monotonic() - startedAt) / 1000);
      }
    };
  }
}
