// Answers questions about the cluster's zone from the records: what exists, what exists without such a record, and what does not.
// Pure but for the shuffle of several addresses.

import { tryAddress } from "../../kit/os/net/address.ts";
import { type Answer, type DnsRecord, type RecordData, recordType, responseCode } from "./codec.ts";
import { addressData, type ServiceEntry, type ServiceRecords } from "./records.ts";

/** Short, so that an endpoint that left is forgotten soon. */
const ttl = 5;
/** ExternalNames may point at each other, even in a circle. */
const mostAliases = 8;

export interface ZoneQuestion {
  readonly name: string;
  readonly type: number;
}

/** `external` is the target of an ExternalName outside the zone that the server still has to ask for. */
export interface ZoneAnswer extends Answer {
  readonly external?: string;
}

type Found =
  | { readonly data: readonly RecordData[]; readonly extra?: readonly DnsRecord[]; readonly alias?: string }
  | undefined;

export class Zone {
  readonly #domain: string;
  readonly #records: ServiceRecords;

  constructor(domain: string, records: ServiceRecords) {
    this.#domain = domain.toLowerCase().replace(/\.$/, "");
    this.#records = records;
  }

  /** Undefined when the question is not about the cluster. */
  answer(question: ZoneQuestion): ZoneAnswer | undefined {
    return this.#answer(question, mostAliases);
  }

  #answer({ name, type }: ZoneQuestion, aliasesLeft: number): ZoneAnswer | undefined {
    if (name.endsWith(".arpa")) return this.#reverse(name, type);
    if (name !== this.#domain && !name.endsWith(`.${this.#domain}`)) return undefined;
    const labels = name === this.#domain ? [] : name.slice(0, -this.#domain.length - 1).split(".");
    const found = this.#find(labels);
    if (!found) return this.#negative(responseCode.nameError);
    const alias = found.alias;
    if (alias !== undefined && type !== recordType.CNAME) return this.#alias(name, alias, type, aliasesLeft);
    const data = alias === undefined ? found.data : [{ type: "CNAME" as const, target: alias }];
    const wanted = shuffle(data.filter((record) => recordType[record.type] === type || type === recordType.ANY));
    if (wanted.length === 0) return this.#negative(responseCode.ok);
    return {
      code: responseCode.ok,
      isAuthoritative: true,
      answers: wanted.map((data) => ({ name, ttl, data })),
      authorities: [],
      additionals: type === recordType.SRV ? (found.extra ?? []) : [],
    };
  }

  #alias(name: string, alias: string, type: number, aliasesLeft: number): ZoneAnswer {
    const first: DnsRecord = { name, ttl, data: { type: "CNAME", target: alias } };
    const inside =
      aliasesLeft > 0 ? this.#answer({ name: alias, type }, aliasesLeft - 1) : this.#negative(responseCode.ok);
    if (inside) return { ...inside, code: responseCode.ok, answers: [first, ...inside.answers] };
    return {
      code: responseCode.ok,
      isAuthoritative: true,
      answers: [first],
      authorities: [],
      additionals: [],
      external: alias,
    };
  }

  /** What stands at a name of the zone; no data is a name that exists only because something stands below it. */
  #find(labels: readonly string[]): Found {
    const kind = labels.at(-1);
    if (kind === undefined) return { data: [this.#soa(), { type: "NS", target: `ns.dns.${this.#domain}` }] };
    if (kind === "dns-version" && labels.length === 1) return { data: [{ type: "TXT", text: "1.1.0" }] };
    if (kind === "svc") return this.#findService(labels.slice(0, -1));
    if (kind === "pod") return this.#findPod(labels.slice(0, -1));
    return undefined;
  }

  #findService(labels: readonly string[]): Found {
    const namespace = labels.at(-1);
    if (namespace === undefined) return { data: [] };
    if (labels.length === 1) return this.#records.hasNamespace(namespace) ? { data: [] } : undefined;
    const entry = this.#records.get(namespace, labels.at(-2) ?? "");
    if (!entry) return undefined;
    const rest = labels.slice(0, -2);
    if (entry.externalName !== undefined)
      return rest.length === 0 ? { data: [], alias: entry.externalName } : undefined;
    if (rest.length === 0) return this.#wholeService(entry);
    if (rest.length === 1 && !rest[0]?.startsWith("_")) return endpointsNamed(entry, rest[0] ?? "");
    return this.#servicePort(entry, rest);
  }

  #wholeService(entry: ServiceEntry): Found {
    const addresses = entry.isHeadless ? entry.endpoints.map(({ address }) => address) : entry.clusterIps;
    const services = this.#srv(entry, entry.ports);
    return { data: [...addressData(addresses), ...services.data], extra: services.extra };
  }

  #servicePort(entry: ServiceEntry, rest: readonly string[]): Found {
    const [port, protocol] = rest.length === 2 ? rest : [undefined, rest[0]];
    const ports = entry.ports.filter(
      (candidate) => `_${candidate.protocol}` === protocol && (port === undefined || `_${candidate.name}` === port),
    );
    if (ports.length === 0 || rest.length > 2) return undefined;
    // `_tcp.web…` alone exists only because ports stand below it.
    return port === undefined ? { data: [] } : this.#srv(entry, ports);
  }

  #srv(entry: ServiceEntry, ports: ServiceEntry["ports"]): { data: RecordData[]; extra: DnsRecord[] } {
    const base = `${entry.name}.${entry.namespace}.svc.${this.#domain}`;
    const data: RecordData[] = [];
    const extra = new Map<string, DnsRecord>();
    for (const port of ports) {
      if (port.name === "" && ports.length > 1) continue;
      const targets = entry.isHeadless
        ? port.endpoints.map(({ label, address }) => ({ target: `${label}.${base}`, addresses: [address] }))
        : [{ target: base, addresses: entry.clusterIps }];
      const weight = Math.max(1, Math.floor(100 / Math.max(1, targets.length)));
      for (const { target, addresses } of targets) {
        data.push({ type: "SRV", priority: 0, weight, port: port.port, target });
        for (const record of addressData(addresses))
          extra.set(`${target} ${JSON.stringify(record)}`, { name: target, ttl, data: record });
      }
    }
    return { data, extra: [...extra.values()] };
  }

  /** `10-42-0-7.shop.pod`: the address is in the name itself. */
  #findPod(labels: readonly string[]): Found {
    const [label, namespace] = labels;
    if (labels.length === 0) return { data: [] };
    if (labels.length === 1) return { data: [] };
    if (labels.length > 2 || !label || !namespace) return undefined;
    const address = [label.replaceAll("-", "."), label.replaceAll("-", ":")].find((text) => tryAddress(text));
    return address ? { data: addressData([address]) } : undefined;
  }

  // Reverse names that are not ours belong to somebody else: they are forwarded.
  #reverse(name: string, type: number): ZoneAnswer | undefined {
    const targets = this.#records.pointersOf(name);
    if (targets.length === 0) return undefined;
    if (type !== recordType.PTR && type !== recordType.ANY) return this.#negative(responseCode.ok);
    const answers = targets.map((target) => ({
      name,
      ttl,
      data: { type: "PTR" as const, target: `${target}.${this.#domain}` },
    }));
    return { code: responseCode.ok, isAuthoritative: true, answers, authorities: [], additionals: [] };
  }

  #soa(): RecordData {
    return {
      type: "SOA",
      primary: `ns.dns.${this.#domain}`,
      mailbox: `hostmaster.${this.#domain}`,
      serial: 1,
      minimum: ttl,
    };
  }

  #negative(code: number): ZoneAnswer {
    const authorities = [{ name: this.#domain, ttl, data: this.#soa() }];
    return { code, isAuthoritative: true, answers: [], authorities, additionals: [] };
  }
}

function endpointsNamed(entry: ServiceEntry, label: string): Found {
  const addresses = entry.endpoints.filter((endpoint) => endpoint.label === label).map(({ address }) => address);
  return addresses.length > 0 ? { data: addressData(addresses) } : undefined;
}

function shuffle<T>(items: readonly T[]): T[] {
  const mixed = [...items];
  for (let index = mixed.length - 1; index > 0; index--) {
    const other = Math.floor(Math.random() * (index + 1));
    [mixed[index], mixed[other]] = [mixed[other] as T, mixed[index] as T];
  }
  return mixed;
}
