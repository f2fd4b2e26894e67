// The systemd of this machine, over D-Bus: transient units, their properties and their end. Connects when it is first needed, and anew
// after the connection was lost.

import { existsSync } from "node:fs";
import { type Call, within } from "../../base/call.ts";
import { type DbusAddress, DbusConnection } from "../dbus/connection.ts";
import { type DbusValue, Variant } from "../dbus/values.ts";
import { Fault, isFault } from "../../base/fault.ts";

/** A property of a unit, with its D-Bus type. */
export type UnitProperty = readonly [name: string, value: Variant];

export interface SystemdManager {
  /** False where a unit of that name is there already: it is left as it is. */
  startTransient(unit: string, properties: readonly UnitProperty[], call: Call): Promise<boolean>;
  /** Until the unit ends or the machine does. */
  setProperties(unit: string, properties: readonly UnitProperty[], call: Call): Promise<void>;
  /** With everything that belongs to it. One that is not there is none. */
  stop(unit: string, call: Call): Promise<void>;
  /** Sends a signal to every process of the unit. */
  kill(unit: string, signal: number, call: Call): Promise<void>;
  /** May be called twice, and used again after it. */
  close(): void;
}

export const systemBusPath = "/run/dbus/system_bus_socket";
/** systemd's own socket for root: there without a D-Bus daemon, too. */
const privatePath = "/run/systemd/private";
const connectMs = 5_000;
const jobMs = 30_000;

const managerObject = {
  destination: "org.freedesktop.systemd1",
  path: "/org/freedesktop/systemd1",
  interface: "org.freedesktop.systemd1.Manager",
} as const;

export function systemdManager(root: string = ""): SystemdManager {
  const addresses: DbusAddress[] = [
    { path: `${root}${systemBusPath}`, hasBus: true },
    { path: `${root}${privatePath}`, hasBus: false },
  ];
  let opened: Promise<Session> | undefined;

  const session = async () => {
    if (opened && !(await opened).connection.isClosed) return opened;
    opened = openSession(addresses);
    // What could not be opened is tried again by whoever comes next.
    opened.catch(() => (opened = undefined));
    return opened;
  };
  /** A connection that has ended meanwhile, as when the D-Bus daemon is restarted, is opened once more. */
  const use = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    const first = await session();
    try {
      return await work(first);
    } catch (error) {
      if (!first.connection.isClosed) throw error;
      return work(await session());
    }
  };
  const ask = (member: string, signature: string, body: readonly DbusValue[], call: Call) =>
    use(({ connection }) => connection.call({ ...managerObject, member, signature, body }, call));
  const job = (member: string, signature: string, body: readonly DbusValue[], call: Call) =>
    use((open) => open.job(member, signature, body, within(jobMs, call)));
  /** systemd keeps a unit that failed until it is told that somebody has seen it. */
  const forgetFailed = (unit: string, call: Call) => ask("ResetFailedUnit", "s", [unit], call).catch(() => {});

  return {
    async startTransient(unit, properties, call) {
      const body: DbusValue[] = [unit, "replace", properties, []];
      try {
        const result = await job("StartTransientUnit", "ssa(sv)a(sa(sv))", body, call);
        if (result === "done") return true;
        await forgetFailed(unit, call);
        throw new Fault("unavailable", `Cannot start ${unit}: systemd says "${result}"`);
      } catch (error) {
        if (isFault(error, "already-exists")) return false;
        throw error;
      }
    },
    async setProperties(unit, properties, call) {
      await ask("SetUnitProperties", "sba(sv)", [unit, true, properties], call);
    },
    async stop(unit, call) {
      try {
        await job("StopUnit", "ss", [unit, "replace"], call);
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
      await forgetFailed(unit, call);
    },
    async kill(unit, signal, call) {
      await ask("KillUnit", "ssi", [unit, "all", signal], call);
    },
    close() {
      const last = opened;
      opened = undefined;
      // One that could not be opened needs no end.
      last?.then(({ connection }) => connection.close()).catch(() => {});
    },
  };
}

export function property(name: string, signature: string, value: DbusValue): UnitProperty {
  return [name, new Variant(signature, value)];
}

interface Session {
  readonly connection: DbusConnection;
  /** Calls what starts a job, and waits for the job's result. */
  job(member: string, signature: string, body: readonly DbusValue[], call: Call): Promise<string>;
}

async function openSession(addresses: readonly DbusAddress[]): Promise<Session> {
  const connection = await connect(addresses);
  // A job may be over before its number is known here: results that nobody has asked for yet are kept while somebody might.
  const results = new Map<string, string>();
  const waiting = new Map<string, PromiseWithResolvers<string>>();
  let asking = 0;
  try {
    const { path, destination: sender, interface: of } = managerObject;
    const onRemoved = ([, job, , result]: readonly DbusValue[]) => {
      const answer = waiting.get(String(job));
      if (answer) answer.resolve(String(result));
      else if (asking > 0) results.set(String(job), String(result));
    };
    await connection.listen({ sender, path, interface: of, member: "JobRemoved" }, onRemoved, within(connectMs));
    await connection.call({ ...managerObject, member: "Subscribe" }, within(connectMs));
  } catch (error) {
    connection.close();
    throw error;
  }
  void connection.closed.then(() => {
    for (const { reject } of waiting.values()) reject(new Fault("unavailable", "The connection to systemd was lost"));
  });
  return {
    connection,
    async job(member, signature, body, call) {
      asking++;
      let path: string;
      try {
        path = String((await connection.call({ ...managerObject, member, signature, body }, call))[0]);
      } finally {
        asking--;
      }
      const known = results.get(path);
      if (asking === 0) results.clear();
      if (known !== undefined) return known;
      const answer = Promise.withResolvers<string>();
      const onAbort = () =>
        answer.reject(new Fault("timeout", `systemd does not finish ${member} of ${String(body[0])}`));
      call.signal.addEventListener("abort", onAbort, { once: true });
      waiting.set(path, answer);
      try {
        return await answer.promise;
      } finally {
        waiting.delete(path);
        call.signal.removeEventListener("abort", onAbort);
      }
    },
  };
}

async function connect(addresses: readonly DbusAddress[]): Promise<DbusConnection> {
  const failures: unknown[] = [];
  for (const address of addresses) {
    if (!existsSync(address.path)) continue;
    try {
      return await DbusConnection.open(address, within(connectMs));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  throw new Fault(
    "unavailable",
    `Cannot reach systemd: neither ${addresses.map(({ path }) => path).join(" nor ")} is there`,
  );
}
