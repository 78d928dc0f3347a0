import { z } from "zod";

export const LevelWord = z.enum(["L0", "L1", "L2", "L3", "L4"]);

const fields = {
  floor: LevelWord.optional().meta({ description: "Only endpoints of this level or above process such a request." }),
  action: z.enum(["report", "pseudonymise", "redact", "block"]).optional().meta({
    description:
      "`report` counts in the log and in `X-Svc-Data-Classes`, as every rule does; `pseudonymise` replaces what was found with stand-ins and puts the originals back in the reply; `redact` replaces it with a marker such as `[EMAIL]`; `block` refuses.",
  }),
  below: LevelWord.optional().meta({
    description: "With `pseudonymise`, `redact` and `block`: for endpoints below this level only; absent: for all.",
  }),
  output: z.enum(["report", "redact", "block"]).optional().meta({
    description:
      "For data of the class that the reply contains and the request did not: `report` counts in the log, `redact` replaces it with a marker, `block` refuses the reply or ends its stream before it. The reply is charged.",
  }),
};
const DataClassRule = z
  .strictObject(fields)
  .refine(({ action, below }) => below === undefined || (action !== undefined && action !== "report"), {
    message:
      "is the level below which an action holds: set `action` to `pseudonymise`, `redact` or `block`, or omit it",
    path: ["below"],
  });
/** Also of the classes that a workspace defines. */
export const CLASS_NAME = /^[a-z][a-z0-9-]{1,39}$/;
const RULES_MAX = 100;
export const ClassName = z
  .string()
  .regex(CLASS_NAME, "must be the name of a data class: 2 to 40 lowercase letters, digits and hyphens")
  .meta({ description: "personal, special, secret, business, uninspected, or a class that the workspace defines." });

export const DataClassRules = z
  .record(ClassName, DataClassRule)
  .refine((rules) => Object.keys(rules).length <= RULES_MAX, { message: `must have at most ${RULES_MAX} rules` })
  .refine(({ ["uninspected"]: rule }) => rule?.action !== "pseudonymise" && rule?.action !== "redact", {
    message: "must be report or block: images, audio and files cannot be changed",
    path: ["uninspected", "action"],
  })
  .refine(({ ["uninspected"]: rule }) => rule?.output === undefined, {
    message: "must be omitted: images, audio and files in replies are not read",
    path: ["uninspected", "output"],
  })
  .meta({
    id: "DataClassRules",
    description:
      "Rules for requests that contain data of a class; `uninspected` are images, audio and files, which no detector reads.",
  });

/** As policies show them: in an explanation, rules of several layers hold for one class. */
export const ShownDataClassRules = z
  .record(
    ClassName,
    z.strictObject({
      ...fields,
      and: z.array(z.strictObject(fields)).optional().meta({
        description: "In an explanation: rules of other layers for the class, which hold as well.",
      }),
    }),
  )
  .meta({ id: "ShownDataClassRules", description: "Rules for requests that contain data of a class." });
