/**
 * The CEL rules of deploy/crds, evaluated on a document that has passed its shape and has its defaults, as the API server does.
 * Same text, same order; the functions that Kubernetes adds to CEL and that our rules use (isIP, isCIDR) are added here.
 */

import { Environment } from '@marcbachmann/cel-js';
import { parseAddress, parsePrefixMasked } from 'bgp-ts';
import type { DocumentPath } from '../../model/refusal.ts';
import { CRD_RULES, type CrdRule, type Kind } from './crd-schema.ts';

export interface BrokenRule {
  /** of what the rule is about */
  readonly self: DocumentPath;
  /** of what is wrong, the same or below it */
  readonly path: DocumentPath;
  readonly message: string;
}

type Evaluate = (context: { readonly self: unknown }) => unknown;

interface CompiledRule {
  readonly rule: CrdRule;
  readonly field: DocumentPath;
  /** compiled when a document first has what it is about */
  evaluate: Evaluate | undefined;
}

const compiled = new Map<string, readonly CompiledRule[]>();
let environment: Environment | undefined;

/** The first rule of this kind that does not hold. */
export function brokenRule(kind: Kind, document: unknown): BrokenRule | undefined {
  for (const rule of rulesOf(kind)) {
    const broken = breach(rule, document, 0, []);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

function rulesOf(kind: Kind): readonly CompiledRule[] {
  const known = compiled.get(kind);
  if (known !== undefined) return known;
  const rules = CRD_RULES[kind].map((rule) => ({
    rule,
    field: rule.fieldPath?.split('.').filter((part) => part !== '') ?? [],
    evaluate: undefined,
  }));
  compiled.set(kind, rules);
  return rules;
}

/** Walks down to each place that the rule is about; what is not there needs no rule. */
function breach(
  rule: CompiledRule,
  self: unknown,
  depth: number,
  path: DocumentPath,
): BrokenRule | undefined {
  const step = rule.rule.path[depth];
  if (step === undefined) {
    if (holds(rule, self)) return undefined;
    return { self: path, path: [...path, ...rule.field], message: rule.rule.message };
  }
  if (step !== '*') {
    const next = isRecord(self) ? self[step] : undefined;
    return next === undefined ? undefined : breach(rule, next, depth + 1, [...path, step]);
  }
  if (!Array.isArray(self)) return undefined;
  for (const [index, item] of self.entries()) {
    const broken = breach(rule, item, depth + 1, [...path, index]);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

/** A rule that cannot be evaluated is broken, for the API server too. */
function holds(rule: CompiledRule, self: unknown): boolean {
  rule.evaluate ??= compile(rule.rule.rule);
  try {
    return rule.evaluate({ self }) === true;
  } catch {
    return false;
  }
}

function compile(rule: string): Evaluate {
  environment ??= new Environment({ unlistedVariablesAreDyn: true })
    .registerFunction('isIP(string): bool', isIp)
    .registerFunction('isCIDR(string): bool', isCidr);
  return environment.parse(rule);
}

/** What Kubernetes means by it: no zone, no leading zeros, no IPv4 inside IPv6. */
function isIp(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined) return false;
  return address.family === 'ipv4' || !isMapped(address.w0, address.w1, address.w2);
}

function isCidr(text: string): boolean {
  const prefix = text.includes('/') ? parsePrefixMasked(text) : undefined;
  if (prefix === undefined) return false;
  return prefix.family === 'ipv4' || !isMapped(prefix.w0, prefix.w1, prefix.w2);
}

function isMapped(w0: number, w1: number, w2: number): boolean {
  return w0 === 0 && w1 === 0 && w2 === 0xffff;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
