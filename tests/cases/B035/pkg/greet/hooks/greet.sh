#!/bin/sh
# TOKEN-greet-1.0.0
echo hello
