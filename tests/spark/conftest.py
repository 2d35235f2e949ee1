"""One Spark for all checks: a driver with two cores, which is a Connect server as well and writes an event log."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"  # which it imports, and nothing here uses

# Statements are short here, so that compiling costs more than running, and so does checking once more what Java compiled.
JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", PANDAS)


@pytest.fixture(scope="session")
def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark writes everything that it ever says: its event log, and its log."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="session")
def spark(logs: Path, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    (logs / "events").mkdir()
    settings = logs / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = warn\nrootLogger.appenderRef.file.ref = file\n"
        f"appender.file.type = File\nappender.file.name = file\nappender.file.fileName = {logs / 'spark.log'}\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %p %c %m%n%ex\n"
    )
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={settings} {JAVA}")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", (logs / "events").as_uri())
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.port", str(port))
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def interpreted(spark: Any) -> Iterator[Any]:
    """The same Spark, which compiles no statement: that takes most of the time of wide ones about few rows.

    What it counts must not depend on it; statements about many rows, all through Connect and some of every kind are compiled.
    """
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name in settings:
        spark.conf.unset(name)


@pytest.fixture(scope="session")
def connected(spark: Any, port: int) -> Iterator[Any]:  # noqa: ARG001
    """A session of the same Spark through Connect."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    yield session
    session.stop()
