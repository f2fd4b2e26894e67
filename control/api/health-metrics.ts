// /metrics/slis: what each health check said last, and how often it said so; the figures that availability is computed from.

export type HealthKind = "healthz" | "livez" | "readyz";

export class HealthMetrics {
  readonly #last = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  observe(name: string, kind: HealthKind, isWell: boolean): void {
    const labels = `name="${name}",type="${kind}"`;
    const counted = `name="${name}",status="${isWell ? "success" : "error"}",type="${kind}"`;
    this.#last.set(labels, isWell ? 1 : 0);
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1);
  }

  text(): string {
    const family = (name: string, type: string, help: string, values: ReadonlyMap<string, number>) =>
      values.size === 0
        ? []
        : [
            `# HELP ${name} ${help}`,
            `# TYPE ${name} ${type}`,
            ...[...values].map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
          ];
    const startedAt = new Map([["", performance.timeOrigin / 1000]]);
    const lines = [
      ...family("kubernetes_healthcheck", "gauge", "Whether a check went well when it was made last.", this.#last),
      ...family("kubernetes_healthchecks_total", "counter", "How often a check was made, by outcome.", this.#counts),
      ...family(
        "process_start_time_seconds",
        "gauge",
        "When the process was started, in seconds since 1970.",
        startedAt,
      ),
    ];
    return lines.map((line) => `${line}\n`).join("");
  }
}
