// The setting of look-ups.

import type { Route } from "../../../kernel/config/resolved.ts";
import { settingOf, type TextsOf, yesOrNo } from "../../../kernel/config/setting-kinds.ts";
import type { FullSettings } from "../../../kernel/config/settings.ts";
import type { FeatureSettings } from "../../../kernel/feature-settings.ts";

export const lookUpEntries = {
  look_up: settingOf(yesOrNo(), true),
};

export const lookUpTexts: TextsOf<typeof lookUpEntries> = {
  look_up: {
    description:
      "Whether clients may ask what became of a key, or give it up, with their own credential and without its request: `GET /.well-known/idempotency/requests` " +
      "with the request's path behind it, and `?key=`. The answer has a state, what to do next, and whether a new key is safe; never the response.",
    onChange: "applies at once",
  },
};

interface LookUpSettings {
  readonly look_up: boolean;
}

export const lookUpSettings: FeatureSettings<LookUpSettings> = {
  name: "look-up",
  routes: { after: "server_timing", entries: lookUpEntries, tables: {} },
  read: () => ({ resolveRoute }),
};

function resolveRoute(route: Route, { look_up: lookUp }: FullSettings & LookUpSettings): Route {
  return { ...route, lookUp };
}
