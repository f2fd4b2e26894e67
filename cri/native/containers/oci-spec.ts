// The parts of the OCI runtime specification 1.0.2 that this runtime writes.

export interface OciMount {
  destination: string;
  type?: string;
  source?: string;
  options?: string[];
}

export interface OciDevice {
  path: string;
  type: "c" | "b" | "p";
  major: number;
  minor: number;
  fileMode?: number;
  uid?: number;
  gid?: number;
}

export interface OciDeviceRule {
  allow: boolean;
  type?: string;
  major?: number;
  minor?: number;
  access?: string;
}

export interface OciIdMapping {
  containerID: number;
  hostID: number;
  size: number;
}

export interface OciSeccomp {
  defaultAction: string;
  defaultErrnoRet?: number;
  architectures?: string[];
  listenerPath?: string;
  syscalls?: {
    names: string[];
    action: string;
    errnoRet?: number;
    args?: { index: number; value: number; valueTwo?: number; op: string }[];
  }[];
}

export interface OciResources {
  devices?: OciDeviceRule[];
  memory?: { limit?: number; swap?: number };
  cpu?: { shares?: number; quota?: number; period?: number; cpus?: string; mems?: string };
  pids?: { limit: number };
  hugepageLimits?: { pageSize: string; limit: number }[];
  unified?: Record<string, string>;
}

export interface OciProcess {
  terminal: boolean;
  consoleSize?: { width: number; height: number };
  user: { uid: number; gid: number; additionalGids?: number[]; umask?: number };
  args: string[];
  env: string[];
  cwd: string;
  capabilities: Record<"bounding" | "effective" | "permitted" | "inheritable" | "ambient", string[]>;
  rlimits?: { type: string; soft: number; hard: number }[];
  noNewPrivileges: boolean;
  apparmorProfile?: string;
  oomScoreAdj?: number;
}

interface OciHook {
  path: string;
  args?: string[];
  env?: string[];
  timeout?: number;
}

export interface OciSpec {
  ociVersion: string;
  process: OciProcess;
  root: { path: string; readonly: boolean };
  hostname?: string;
  mounts: OciMount[];
  annotations?: Record<string, string>;
  /** By the moment at which they run. */
  hooks?: Record<string, OciHook[]>;
  linux: {
    namespaces: { type: string; path?: string }[];
    uidMappings?: OciIdMapping[];
    gidMappings?: OciIdMapping[];
    devices?: OciDevice[];
    cgroupsPath: string;
    resources: OciResources;
    rootfsPropagation?: string;
    seccomp?: OciSeccomp;
    maskedPaths?: string[];
    readonlyPaths?: string[];
  };
}
