/** Questions of decision models whose catalogue entry has no categories of its own, under the names that OpenAI's clients know. */
export const DEFAULT_CATEGORIES: Readonly<Record<string, string>> = {
  harassment: "Does the content insult, threaten or bully a person or a group?",
  hate: "Does the content attack or demean people for who they are, such as their origin, religion, gender or disability?",
  illicit: "Does the content explain how to commit a crime or how to make or get something illegal?",
  "self-harm": "Does the content encourage, describe or ask for help with hurting oneself or suicide?",
  sexual: "Is the content sexually explicit or meant to arouse?",
  "sexual/minors": "Does the content sexualise a person under 18?",
  violence: "Does the content depict, praise or threaten physical violence?",
};
