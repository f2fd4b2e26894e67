// What this room reads of the Engine API's answers, in its spelling. Fields that nobody here reads are left out.

export interface ContainerSummary {
  readonly Id: string;
  readonly ImageID: string;
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

interface ContainerState {
  readonly Status: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  readonly Running: boolean;
  readonly OOMKilled: boolean;
  readonly Pid: number;
  readonly ExitCode: number;
  readonly Error: string;
  readonly StartedAt: string;
  readonly FinishedAt: string;
}

export interface HostResources {
  readonly CpuShares: number;
  readonly CpuPeriod: number;
  readonly CpuQuota: number;
  readonly CpusetCpus: string;
  readonly CpusetMems: string;
  readonly Memory: number;
  readonly MemorySwap: number;
}

export interface ContainerInspect {
  readonly Id: string;
  readonly Image: string;
  readonly ResolvConfPath: string;
  readonly State: ContainerState;
  readonly Config: { readonly Labels: Readonly<Record<string, string>>; readonly Tty: boolean };
  readonly HostConfig: HostResources & { readonly OomScoreAdj: number };
  readonly GraphDriver: { readonly Data?: Readonly<Record<string, string>> | null };
}

export interface ImageSummary {
  readonly Id: string;
  readonly RepoTags: readonly string[] | null;
  readonly RepoDigests: readonly string[] | null;
  readonly Size: number;
}

export interface ImageInspect extends ImageSummary {
  readonly Config?: { readonly User?: string; readonly StopSignal?: string } | null;
}

export interface EngineEvent {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
  readonly timeNano: number;
}

export interface EngineVersion {
  readonly Version: string;
}

export interface EngineInfo {
  readonly DockerRootDir: string;
  readonly CgroupDriver: string;
  readonly Driver: string;
  readonly SecurityOptions: readonly string[] | null;
}

/** The zero time, which stands for "never". */
const never = "0001-01-01T00:00:00Z";

/** Nanoseconds since 1970 of an RFC 3339 stamp; 0 for never. */
export function toNanoseconds(stamp: string): bigint {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(stamp);
  if (!match || stamp === never) return 0n;
  const seconds = BigInt(Date.parse(`${match[1]}${match[3]}`) / 1000);
  return seconds * 1_000_000_000n + BigInt((match[2] ?? "").padEnd(9, "0"));
}
