// @ts-check
// The one place where the page meets its library: everything a component needs, under one name.
import {
  useCallback, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState,
} from "../vendor/hooks.js";
import htm from "../vendor/htm.js";
import { Component, createContext, Fragment, h, render } from "../vendor/preact.js";
import {
  batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect,
} from "../vendor/signals.js";

/** @template T @typedef {import("../vendor/signals.js").Signal<T>} Signal */

export const html = htm.bind(h);
export {
  Component, Fragment, batch, computed, createContext, effect, h, render, signal, untracked,
  useCallback, useComputed, useContext, useEffect, useId, useLayoutEffect, useMemo, useRef,
  useSignal, useSignalEffect, useState,
};
