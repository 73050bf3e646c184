// @ts-check
// The rooms beside the conversation. A room is a path, a name, and a module that is loaded when it
// is first entered; its default export is a component that is given `parts`, the rest of the path.
// `key` is the letter after g that leads there, where it is not the first of the path.

export const ROOMS = [
  { path: "advisors", name: "Advisors", from: import.meta.resolve("./advisors/room.js") },
  { path: "assertions", name: "Assertions", key: "t", from: import.meta.resolve("./evaluation/room.js") },
  { path: "recipes", name: "Recipes", from: import.meta.resolve("./recipes/room.js") },
  { path: "memory", name: "Memory", from: import.meta.resolve("./memory/room.js") },
  { path: "sessions", name: "Sessions", key: "h", from: import.meta.resolve("./sessions/room.js") },
  { path: "usage", name: "Usage", from: import.meta.resolve("./usage/room.js") },
  { path: "settings", name: "Settings", from: import.meta.resolve("./settings/room.js") },
  { path: "search", name: "Search", from: import.meta.resolve("./search/room.js"), hidden: true },
];
