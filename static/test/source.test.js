import assert from "node:assert/strict";
import { test } from "node:test";
import { StringStream } from "@codemirror/streamparser";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { python } from "@codemirror/legacy-modes/mode/python";
import { languageOf, makeColouring } from "../src/js/source.js";

test("the language follows from the interpreter", () => {
  for (const [line, want] of [
    ["#!/bin/sh", "shell"],
    ["#! /usr/bin/env bash", "shell"],
    ["#!/usr/bin/env -S python3.12 -u", "python"],
    ["#!/usr/bin/env -S LEVEL=1 node --harmony", "javascript"],
    ["#!/usr/bin/Rscript", "r"],
    ["#!/opt/own/interpreter", undefined],
    ["echo no script", undefined],
    ["", undefined],
  ]) {
    assert.equal(languageOf(line), want, line);
  }
});

test("every character is kept, and its look is the grammar's", () => {
  const pieces = makeColouring(shell, StringStream);
  for (const line of ["#!/bin/sh", "", "  if [ -z \"$A\" ]; then # why", "\techo 'x'", "é ünïcode \u{1f30a}"]) {
    assert.equal(pieces(line).map(([text]) => text).join(""), line);
  }
  assert.deepEqual(pieces("# note"), [["# note", "comment"]]);
  assert.deepEqual(pieces("if")[0], ["if", "keyword"]);
});

test("a string goes on over lines", () => {
  const pieces = makeColouring(python, StringStream);
  pieces('text = """one');
  assert.deepEqual(pieces("two = 2"), [["two = 2", "string"]]);
  pieces('three"""');
  assert.notDeepEqual(pieces("two = 2"), [["two = 2", "string"]]);
});
