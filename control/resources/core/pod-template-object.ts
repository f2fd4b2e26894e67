// PodTemplate: a template that stands by itself.

import { warnOfTemplate } from "../pod-spec/warnings.ts";
import type { ResourceDefinition } from "../definition.ts";
import { defaultTemplate, type PodTemplate, templateCells, validateTemplate } from "../pod-template.ts";
import { column, labelsText, nameColumn } from "../print.ts";

export const podTemplates: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "podtemplates",
  singular: "podtemplate",
  kind: "PodTemplate",
  namespaced: true,
  hasGeneration: true,
  answersDeleted: true,
  columns: [
    nameColumn,
    column("Containers", "The names of its containers."),
    column("Images", "The images of its containers."),
    column("Pod Labels", "The labels that its pods get."),
  ],
  cells(object) {
    const template = object.template as PodTemplate | undefined;
    return [object.metadata.name, ...templateCells(template), labelsText(template?.metadata?.labels)];
  },
  defaults: (object) => defaultTemplate(object as { template?: PodTemplate }),
  warnings: (object) => warnOfTemplate(object.template as PodTemplate | undefined, "template"),
  validate: (object) => validateTemplate(object.template as PodTemplate | undefined, "template"),
};
