// Counters, gauges and histograms that Prometheus reads: kept in memory, written out when asked. Labels must come from closed sets, never from
// what a client may choose freely.

export interface Counter {
  add(labels: Labels, by?: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

type Labels = Readonly<Record<string, string>>;

interface Family {
  text(): string;
}

/** Prometheus' own for seconds. */
export const usualBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class Meters {
  readonly #families = new Map<string, Family>();

  /** Each name is opened once. */
  counter(name: string, help: string): Counter {
    const counts = new Map<string, number>();
    this.#add(name, {
      text: () => head(name, "counter", help) + rows(counts, (labels, count) => `${name}${braced(labels)} ${count}\n`),
    });
    return {
      add(labels, by = 1) {
        const key = textOf(labels);
        counts.set(key, (counts.get(key) ?? 0) + by);
      },
    };
  }

  /** Read when the text is asked for. */
  gauge(name: string, help: string, read: () => readonly (readonly [labels: Labels, value: number])[]): void {
    const line = ([labels, value]: readonly [Labels, number]) => `${name}${braced(textOf(labels))} ${value}\n`;
    this.#add(name, { text: () => head(name, "gauge", help) + read().map(line).join("") });
  }

  histogram(name: string, help: string, buckets: readonly number[] = usualBuckets): Histogram {
    const kept = new Map<string, { readonly counts: number[]; sum: number; total: number }>();
    this.#add(name, {
      text: () =>
        head(name, "histogram", help) +
        rows(kept, (labels, { counts, sum, total }) => {
          let below = 0;
          const comma = labels === "" ? "" : ",";
          const lines = buckets.map((limit, index) => {
            below += counts[index] ?? 0;
            return `${name}_bucket{${labels}${comma}le="${limit}"} ${below}\n`;
          });
          const whole = `${name}_bucket{${labels}${comma}le="+Inf"} ${total}\n`;
          return `${lines.join("")}${whole}${name}_sum${braced(labels)} ${sum}\n${name}_count${braced(labels)} ${total}\n`;
        }),
    });
    return {
      observe(labels, value) {
        const key = textOf(labels);
        const known = kept.get(key) ?? { counts: buckets.map(() => 0), sum: 0, total: 0 };
        kept.set(key, known);
        known.sum += value;
        known.total++;
        const at = buckets.findIndex((limit) => value <= limit);
        if (at >= 0) known.counts[at] = (known.counts[at] ?? 0) + 1;
      },
    };
  }

  /** In the text format, families in the order in which they were opened; those that counted nothing are left out. */
  text(): string {
    return [...this.#families.values()].map((family) => family.text()).join("");
  }

  #add(name: string, family: Family): void {
    if (this.#families.has(name)) throw new Error(`${name} is measured already`);
    this.#families.set(name, { text: () => withRows(family.text()) });
  }
}

const head = (name: string, type: string, help: string) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
const withRows = (text: string) => (/\n[^#]/.test(text) ? text : "");
const braced = (labels: string) => (labels === "" ? "" : `{${labels}}`);

function rows<T>(kept: ReadonlyMap<string, T>, row: (labels: string, value: T) => string): string {
  return [...kept].map(([labels, value]) => row(labels, value)).join("");
}

function textOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`))}"`)
    .join(",");
}
