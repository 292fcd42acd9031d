// The checker: applies every rule to every record of a history and returns the violations. Pure.

import type { HistoryEvent } from "./history.ts";
import { expiry, everyByte, firstAnswerWins, mismatch } from "./answers.ts";
import {
  claimBeforeCall,
  keysAreRemembered,
  neverTwoByGuess,
  noOtherRequest,
  oneAtATime,
  oneEffect,
  refusalsAreShared,
  unknownStays,
} from "./attempts.ts";
import {
  alarmsFire,
  everybodyIsAnswered,
  everyKeySettles,
  gatewayLives,
  inFlightHasACause,
  waitingEnds,
} from "./deadlines.ts";
import {
  decisionsLeaveAnswers,
  everyGivenByte,
  forgetBeginsAnew,
  givenAnswerWins,
  honestRefusals,
  verificationsEnd,
  verifiedIsSo,
} from "./given.ts";
import {
  attemptsStayAway,
  givenUpHadNoEffect,
  newKeysNeverDouble,
  newKeysAreSafe,
  questionsLearnNothing,
  trueReports,
} from "./keys.ts";
import { honestProblems, nobodyElsesAnswer, privateHeaders } from "./others.ts";
import { checkClaims } from "./claims.ts";
import {
  cancelledStays,
  credentialsAreGone,
  inertMonitors,
  promisesAreKept,
  strangersHearTheSame,
  strangersLearnNothing,
  triedOnce,
  trueMonitors,
} from "./accepted.ts";
import {
  acknowledgedIsSettled,
  deliveriesDecide,
  lettersAreTrue,
  messagesArrive,
  nothingIsLost,
  settledIsOver,
  unsettledResultsHaveLetters,
} from "./deliveries.ts";
import {
  eventsArrive,
  eventsHaveResults,
  eventsStayTheSame,
  oneResultIsReported,
  resultsHaveEvents,
} from "./events.ts";
import { checkObserved } from "./observed.ts";
import { checkTurns } from "./turns.ts";
import { sortHistory } from "./records.ts";
import type { RecordHistory, Violation, World } from "./records.ts";

export type { Violation } from "./records.ts";

type Rule = (world: World, record: RecordHistory) => readonly Violation[];

const RULES: readonly Rule[] = [
  oneAtATime,
  claimBeforeCall,
  neverTwoByGuess,
  oneEffect,
  keysAreRemembered,
  unknownStays,
  noOtherRequest,
  firstAnswerWins,
  everyByte,
  expiry,
  givenAnswerWins,
  everyGivenByte,
  verifiedIsSo,
  decisionsLeaveAnswers,
  forgetBeginsAnew,
  mismatch,
  nobodyElsesAnswer,
  honestProblems,
  privateHeaders,
  honestRefusals,
  refusalsAreShared,
  everybodyIsAnswered,
  inFlightHasACause,
  waitingEnds,
  verificationsEnd,
  everyKeySettles,
  attemptsStayAway,
  givenUpHadNoEffect,
  newKeysAreSafe,
  newKeysNeverDouble,
  trueReports,
  questionsLearnNothing,
  promisesAreKept,
  trueMonitors,
  strangersLearnNothing,
  strangersHearTheSame,
  inertMonitors,
  triedOnce,
  cancelledStays,
  resultsHaveEvents,
  eventsHaveResults,
  eventsStayTheSame,
  oneResultIsReported,
  acknowledgedIsSettled,
  settledIsOver,
  nothingIsLost,
  unsettledResultsHaveLetters,
  lettersAreTrue,
  deliveriesDecide,
];

export function checkHistory(events: readonly HistoryEvent[]): readonly Violation[] {
  const world = sortHistory(events);
  const found: Violation[] = [];
  for (const record of world.records) {
    const name = `${record.key} of ${record.scope}`;
    for (const rule of RULES) {
      for (const { rule: broken, what, evidence } of rule(world, record)) {
        found.push({ rule: broken, what, evidence: [name, ...evidence] });
      }
    }
  }
  return [
    ...gatewayLives(world),
    ...found,
    ...alarmsFire(world),
    ...eventsArrive(world),
    ...messagesArrive(world),
    ...credentialsAreGone(world),
    ...checkTurns(world),
    ...checkObserved(world, events),
    ...checkClaims(events),
  ];
}
