#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stories that a fault has made red which was put in are played without it by a program that has it no more."""

from mutants.__main__ import judge_alone
from mutants.faults import Fault
from mutants.workshop import Workshop

FAULT = Fault("lost-for-ever", "src/lost.c", "a", "b", "sim/leader: wishes-are-reached")
RED = "red: seed 7, check wishes-are-reached; lost\n"


class Stories(Workshop):
    """A program that is red with the fault, and perhaps without it."""

    def __init__(self, is_red_without):
        super().__init__("nowhere")
        self._is_red_without, self._is_in, self._has_it = is_red_without, False, False

    def put_in(self, _fault):
        self._is_in = True
        return self._take_out

    def _take_out(self):
        self._is_in = False

    def make(self, _room_test):
        self._has_it = self._is_in

    def _play(self, _room_test, _seeds, _planted):
        is_red = self._has_it or self._is_red_without
        return not is_red, set(), RED if is_red else ""


verdict, why, _ = judge_alone(Stories(is_red_without=False), FAULT)
assert (verdict, why) == ("caught", FAULT.test), (verdict, why)
verdict, why, _ = judge_alone(Stories(is_red_without=True), FAULT)
assert verdict == "error" and "red without any fault" in why, (verdict, why)
