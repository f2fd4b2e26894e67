// CustomResourceDefinition objects, as far as the server looks into them.

import type { ClientConfig } from "../../../plugins/kit/kube/client-config.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { StructuralSchema } from "./structural-schema.ts";

export interface CrdNames {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface PrinterColumn {
  name: string;
  type: string;
  jsonPath: string;
  description?: string;
  format?: string;
  priority?: number;
}

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: StructuralSchema };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface CrdCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface ConversionWebhook {
  clientConfig?: ClientConfig;
  conversionReviewVersions?: string[];
}

export interface Crd extends KubeObject {
  spec: {
    group: string;
    names: CrdNames;
    scope: "Namespaced" | "Cluster";
    versions: CrdVersion[];
    preserveUnknownFields?: boolean;
    conversion?: { strategy?: string; webhook?: ConversionWebhook };
  };
  status?: { conditions?: CrdCondition[]; acceptedNames?: CrdNames; storedVersions?: string[] };
}

export const crdRef = { group: "apiextensions.k8s.io", plural: "customresourcedefinitions" };
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export function hasCondition(crd: Crd, type: string): boolean {
  return crd.status?.conditions?.some((one) => one.type === type && one.status === "True") === true;
}
