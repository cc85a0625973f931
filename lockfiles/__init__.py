"""The model of plan and lock, canonical reading and writing, versions, diff. Pure: no file is opened here."""
