// The features of the simulation: one explicit list. What each adds is in its own folder test/features/NAME/simulation.

import { accepted } from "../features/accepted/simulation/actors.ts"; // feature: accepted
import { claims } from "../features/claims/simulation/actors.ts"; // feature: claims
import { lookUp } from "../features/look-up/simulation/actors.ts"; // feature: look-up
import { outbox } from "../features/outbox/simulation/actors.ts"; // feature: outbox
import { queues } from "../features/queues/simulation/actors.ts"; // feature: queues
import { verdicts } from "../features/verdicts/simulation/actors.ts"; // feature: verdicts
import { judgeBody } from "../../src/features/verdicts/object/judge-body.ts"; // feature: verdicts
import type { ObjectFunctions } from "../../src/kernel/object-feature.ts";
import type { SimulatedFeature } from "./actors.ts";

export const FEATURES: readonly SimulatedFeature[] = [
  accepted, // feature: accepted
  queues, // feature: queues
  outbox, // feature: outbox
  claims, // feature: claims
  verdicts, // feature: verdicts
  lookUp, // feature: look-up
];

/** What one feature alone does in an object. */
export const FUNCTIONS: ObjectFunctions = {
  judgeBody, // feature: verdicts
};
