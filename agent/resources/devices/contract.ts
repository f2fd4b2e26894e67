// A provider of countable devices: host devices from the configuration, or a device plugin behind its socket.

import type { Call } from "../../../plugins/kit/call.ts";
import type { Allotment } from "../../pods/deps.ts";

export interface DeviceState {
  readonly id: string;
  readonly isHealthy: boolean;
}

export interface DeviceProvider {
  /** The extended resource, such as `example.com/camera`. */
  readonly resource: string;
  devices(): readonly DeviceState[];
  /** Which of the free ones to take, where the provider has a preference. */
  prefer?(available: readonly string[], count: number, call: Call): Promise<readonly string[]>;
  /** What a container must be given for these devices. Called again with the same ids when a container restarts. */
  allocate(ids: readonly string[], call: Call): Promise<Partial<Allotment>>;
}
