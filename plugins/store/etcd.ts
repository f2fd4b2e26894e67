// The etcd store: the contract spoken to an etcd v3 cluster, for control planes that share one or already have one.

import type { Call } from "../kit/base/call.ts";
import { type Clock, systemClock } from "../kit/base/clock.ts";
import { Fault } from "../kit/base/fault.ts";
import { type Log, noLog } from "../kit/base/log.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import {
  type DeleteResult,
  type Expectation,
  type ListOptions,
  type ListResult,
  type PutResult,
  type Store,
  type StoreEntry,
  type StoreEvent,
  storeKind,
  type TransactionResult,
  type TransactionStep,
} from "../kit/contracts/store.ts";
import { Compactor } from "./etcd/compactor.ts";
import { type EndpointOptions, Endpoints } from "./etcd/endpoints.ts";
import { ExpiringKeys, type Expiry } from "./etcd/expiring.ts";
import { etcdFault, isCompacted } from "./etcd/faults.ts";
import {
  type Compare,
  CompareResult,
  CompareTarget,
  CompactionRequest,
  KVDefinition,
  RangeRequest,
  type RangeResponse,
  TxnRequest,
  type TxnResponse,
} from "./etcd/gen/etcd.js";
import { Keys } from "./etcd/keys.ts";
import { watchEtcd } from "./etcd/watching.ts";
import { readEtcdSettings } from "./etcd/settings.ts";

export interface EtcdStoreOptions extends EndpointOptions {
  /** Stands before every key in etcd, so that others may use the same cluster. */
  prefix?: string;
  /** Prefixes whose keys etcd deletes so many seconds after their last write. */
  expirySeconds?: Expiry;
  /** History older than this is compacted; other clients of the cluster see that too. 0 leaves it to them. */
  historyMs?: number;
  clock?: Clock;
  log?: Log;
}

const defaultPrefix = "/skiff";
const defaultHistoryMs = 10 * 60_000;
const pageSize = 1000;

/** Connects to the first member that answers; rejects with a Fault that names them when none does. */
export async function openEtcdStore(options: EtcdStoreOptions, call: Call): Promise<Store> {
  const store = new EtcdStore(options);
  try {
    await store.list("/", { limit: 0 }, call);
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

class EtcdStore implements Store {
  readonly #endpoints: Endpoints;
  readonly #keys: Keys;
  readonly #expiring: ExpiringKeys;
  readonly #compactor: Compactor;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #revision = 1;

  constructor(options: EtcdStoreOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? noLog;
    this.#endpoints = new Endpoints(options);
    this.#keys = new Keys(options.prefix ?? defaultPrefix);
    this.#expiring = new ExpiringKeys(options.expirySeconds ?? {}, this.#endpoints, this.#clock);
    this.#compactor = new Compactor({
      clock: this.#clock,
      log: this.#log,
      everyMs: options.historyMs ?? defaultHistoryMs,
      compact: (revision) => this.compact(revision, { signal: this.#closing.signal }),
      revision: () => this.#revision,
    });
  }

  get revision(): number {
    return this.#revision;
  }

  async get(key: string, call: Call): Promise<StoreEntry | undefined> {
    const { kvs } = await this.#range(`Cannot read "${key}" from etcd`, { key: this.#keys.bytes(key) }, call);
    return kvs[0] && this.#keys.entry(kvs[0]);
  }

  async list(prefix: string, options: ListOptions, call: Call): Promise<ListResult> {
    const { limit, atRevision } = options;
    if (atRevision !== undefined && !(atRevision >= 1)) {
      throw new Fault("invalid", `Cannot use revision ${atRevision}: revisions begin with 1`);
    }
    const doing = `Cannot list "${prefix}" from etcd`;
    const entries: StoreEntry[] = [];
    let { after } = options;
    let revision = atRevision ?? 0;
    for (;;) {
      const wanted = limit === undefined ? pageSize : Math.min(pageSize, limit - entries.length);
      const page = { ...this.#keys.range(prefix, after), revision, limit: wanted, countOnly: limit === 0 };
      const { kvs, count, header } = await this.#range(doing, page, call);
      revision = revision || Number(header?.revision ?? 0n);
      for (const kv of kvs) entries.push(this.#keys.entry(kv));
      const remaining = Number(count) - kvs.length;
      if (remaining <= 0 || kvs.length === 0 || entries.length === limit) return { entries, revision, remaining };
      after = entries.at(-1)?.key;
    }
  }

  async put(key: string, value: Uint8Array, expect: Expectation, call: Call): Promise<PutResult> {
    const bytes = this.#keys.bytes(key);
    const doing = `Cannot write "${key}" to etcd`;
    const lease = await this.#leaseFor(key, doing, call);
    // The second step tells the key's creation without sending its value back.
    const success = [{ requestPut: { key: bytes, value, lease } }, { requestRange: { key: bytes, keysOnly: true } }];
    const { succeeded, responses, header } = await this.#txn(doing, [{ key: bytes, expect }], success, call);
    const kv = responses.at(-1)?.responseRange?.kvs[0];
    if (!succeeded) return { ok: false, current: kv && this.#keys.entry(kv) };
    const revision = Number(header?.revision ?? 0n);
    return { ok: true, entry: { key, value, createRevision: Number(kv?.createRevision ?? revision), revision } };
  }

  async delete(key: string, expect: Expectation, call: Call): Promise<DeleteResult> {
    if (expect === "absent") return { ok: false, current: await this.get(key, call) };
    const bytes = this.#keys.bytes(key);
    const success = [{ requestDeleteRange: { key: bytes, prevKv: true } }];
    const { succeeded, responses, header } = await this.#txn(
      `Cannot delete "${key}" from etcd`,
      [{ key: bytes, expect }],
      success,
      call,
    );
    const [first] = responses;
    const found = succeeded ? first?.responseDeleteRange?.prevKvs[0] : first?.responseRange?.kvs[0];
    const entry = found && this.#keys.entry(found);
    if (!succeeded || !entry) return { ok: false, current: entry };
    return { ok: true, revision: Number(header?.revision ?? 0n), previous: entry };
  }

  async transact(steps: readonly TransactionStep[], call: Call): Promise<TransactionResult> {
    const doing = `Cannot write "${steps[0]?.key ?? ""}" and what belongs to it to etcd`;
    const held = steps.map(({ key, expect }) => ({ key: this.#keys.bytes(key), expect }));
    const success: object[] = [];
    for (const step of steps) {
      const key = this.#keys.bytes(step.key);
      if (step.put)
        success.push({ requestPut: { key, value: step.put, lease: await this.#leaseFor(step.key, doing, call) } });
      else if (step.delete) success.push({ requestDeleteRange: { key } });
    }
    const { succeeded, responses, header } = await this.#txn(doing, held, success, call);
    if (succeeded) return { ok: true, revision: Number(header?.revision ?? 0n) };
    const current = responses.map(({ responseRange }) => {
      const [kv] = responseRange?.kvs ?? [];
      return kv && this.#keys.entry(kv);
    });
    return { ok: false, current };
  }

  async *watch(prefix: string, since: number, call: Call): AsyncGenerator<readonly StoreEvent[]> {
    const { endpoints, keys, clock, log } = {
      endpoints: this.#endpoints,
      keys: this.#keys,
      clock: this.#clock,
      log: this.#log,
    };
    const parts = { endpoints, keys, clock, log, onRevision: (revision: number) => this.#saw(revision) };
    yield* watchEtcd(parts, prefix, since, this.#open(call));
    if (!call.signal.aborted) this.#open(call);
  }

  /** A read that the members agree on, of nothing: its header tells the revision. */
  async newest(call: Call): Promise<number> {
    const nothing = { key: this.#keys.bytes("/"), countOnly: true };
    const { header } = await this.#range("Cannot read the newest revision from etcd", nothing, call);
    return Number(header?.revision ?? 0n);
  }

  async check(call: Call): Promise<void> {
    await this.newest(call);
  }

  async compact(revision: number, call: Call): Promise<void> {
    const request = CompactionRequest.fromPartial({ revision: BigInt(revision) });
    try {
      await this.#endpoints.ask(KVDefinition.methods.compact, request, true, this.#open(call));
    } catch (error) {
      if (!isCompacted(error)) throw etcdFault(error, `Cannot compact etcd to revision ${revision}`);
    }
  }

  async close(): Promise<void> {
    this.#compactor.stop();
    this.#closing.abort(new Fault("unavailable", "Cannot use the store: it is closed"));
    this.#endpoints.close();
  }

  async #range(
    doing: string,
    request: Parameters<typeof RangeRequest.fromPartial>[0],
    call: Call,
  ): Promise<RangeResponse> {
    try {
      const response = await this.#endpoints.ask(
        KVDefinition.methods.range,
        RangeRequest.fromPartial(request),
        true,
        this.#open(call),
      );
      this.#saw(Number(response.header?.revision ?? 0n));
      return response;
    } catch (error) {
      throw etcdFault(error, doing);
    }
  }

  /** 0 for keys that stay. */
  #leaseFor(key: string, doing: string, call: Call): Promise<bigint> {
    return this.#expiring.leaseFor(key, this.#open(call)).catch((error: unknown) => {
      throw etcdFault(error, doing);
    });
  }

  /** The success steps where the keys are as expected; else reads them. */
  async #txn(
    doing: string,
    held: readonly { key: Uint8Array; expect: Expectation }[],
    success: readonly object[],
    call: Call,
  ): Promise<TxnResponse> {
    const compare = held.flatMap(({ key, expect }): Compare[] => {
      if (expect === "any") return [];
      const modRevision = expect === "absent" ? 0n : BigInt(expect);
      return [{ result: CompareResult.EQUAL, target: CompareTarget.MOD, key, modRevision }];
    });
    const failure = held.map(({ key }) => ({ requestRange: { key } }));
    const request = TxnRequest.fromPartial({ compare, success: [...success], failure });
    try {
      const response = await this.#endpoints.ask(KVDefinition.methods.txn, request, false, this.#open(call));
      this.#saw(Number(response.header?.revision ?? 0n));
      return response;
    } catch (error) {
      throw etcdFault(error, doing);
    }
  }

  #saw(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  /** The call, stopped by closing too; refused where either has happened. */
  #open(call: Call): Call {
    this.#closing.signal.throwIfAborted();
    call.signal.throwIfAborted();
    return { signal: AbortSignal.any([call.signal, this.#closing.signal]) };
  }
}

export const etcd: Plugin<Store, EtcdStoreOptions> = {
  kind: storeKind,
  name: "etcd",
  keys: {
    endpoints: "as --store etcd=…",
    caFile: "as --etcd-cafile",
    certFile: "as --etcd-certfile",
    keyFile: "as --etcd-keyfile",
    prefix: "what stands before every key in etcd (default: /skiff)",
    expirySeconds: "prefixes whose keys etcd deletes so many seconds after their last write",
    historySeconds: "history older than this is compacted, for all clients of that etcd (default: 600)",
  },
  configure: readEtcdSettings,
  async open(host, call) {
    const store = await openEtcdStore({ ...host.settings, clock: host.clock, log: host.log }, call);
    host.onClose(() => store.close());
    return store;
  },
};
