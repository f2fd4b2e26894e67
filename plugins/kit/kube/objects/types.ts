// Kubernetes objects as they travel in JSON. The shapes come from the schema package, as types only: nothing is loaded at run time.

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
  selfLink?: string;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** Any object of any kind. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** A schema type whose metadata is always there, as the server guarantees. */
type Stored<T> = Omit<T, "metadata"> & { metadata: ObjectMeta };

export interface ListMeta {
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
}

export interface KubeList<T = KubeObject> {
  apiVersion: string;
  kind: string;
  metadata: ListMeta;
  items: T[];
}

export type Pod = Stored<import("kubernetes-models/v1").IPod>;
export type PodSpec = import("kubernetes-models/v1").IPodSpec;
export type PodStatus = import("kubernetes-models/v1").IPodStatus;
export type PodCondition = import("kubernetes-models/v1").IPodCondition;
export type Container = import("kubernetes-models/v1").IContainer;
export type ContainerStatus = import("kubernetes-models/v1").IContainerStatus;
export type ContainerState = import("kubernetes-models/v1").IContainerState;
export type Probe = import("kubernetes-models/v1").IProbe;
export type Volume = import("kubernetes-models/v1").IVolume;
export type VolumeMount = import("kubernetes-models/v1").IVolumeMount;
export type Node = Stored<import("kubernetes-models/v1").INode>;
export type NodeStatus = import("kubernetes-models/v1").INodeStatus;
export type NodeCondition = import("kubernetes-models/v1").INodeCondition;
export type Taint = import("kubernetes-models/v1").ITaint;
export type Toleration = import("kubernetes-models/v1").IToleration;
export type Namespace = Stored<import("kubernetes-models/v1").INamespace>;
export type Service = Stored<import("kubernetes-models/v1").IService>;
export type Endpoints = Stored<import("kubernetes-models/v1").IEndpoints>;
export type ConfigMap = Stored<import("kubernetes-models/v1").IConfigMap>;
export type Secret = Stored<import("kubernetes-models/v1").ISecret>;
export type ServiceAccount = Stored<import("kubernetes-models/v1").IServiceAccount>;
export type Event = Stored<import("kubernetes-models/v1").IEvent>;
export type PersistentVolume = Stored<import("kubernetes-models/v1").IPersistentVolume>;
export type PersistentVolumeClaim = Stored<import("kubernetes-models/v1").IPersistentVolumeClaim>;
export type Lease = Stored<import("kubernetes-models/coordination.k8s.io/v1").ILease>;
export type EndpointSlice = Stored<import("kubernetes-models/discovery.k8s.io/v1").IEndpointSlice>;
export type NetworkPolicy = Stored<import("kubernetes-models/networking.k8s.io/v1").INetworkPolicy>;
