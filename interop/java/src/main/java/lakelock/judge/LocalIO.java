package lakelock.judge;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.util.Map;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.SeekableInputStream;

/** Local files, keeping the location ({@code file:///p}, {@code file:/p} or {@code /p}) as it was given. */
final class LocalIO implements FileIO {
  private final Map<String, String> roots;

  LocalIO() {
    this(Map.of());
  }

  /** With roots: a location under a key of the map is a file under the folder that is its value. */
  LocalIO(Map<String, String> roots) {
    this.roots = Map.copyOf(roots);
  }

  private File file(String location) {
    for (Map.Entry<String, String> root : roots.entrySet()) {
      if (location.startsWith(root.getKey() + "/")) {
        return new File(root.getValue(), location.substring(root.getKey().length() + 1));
      }
    }
    return new File(location.replaceFirst("^file:/*", "/"));
  }

  @Override
  public InputFile newInputFile(String location) {
    return new Input(location, file(location));
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new Output(location, file(location));
  }

  @Override
  public void deleteFile(String location) {
    file(location).delete();
  }

  private record Input(String location, File file) implements InputFile {
    @Override
    public long getLength() {
      return file.length();
    }

    @Override
    public boolean exists() {
      return file.exists();
    }

    @Override
    public SeekableInputStream newStream() {
      if (!exists()) {
        throw new NotFoundException("File does not exist: %s", location);
      }
      try {
        return new FileStream(new RandomAccessFile(file, "r"));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static final class FileStream extends SeekableInputStream {
    private final RandomAccessFile file;

    FileStream(RandomAccessFile file) {
      this.file = file;
    }

    @Override
    public long getPos() throws IOException {
      return file.getFilePointer();
    }

    @Override
    public void seek(long position) throws IOException {
      file.seek(position);
    }

    @Override
    public int read() throws IOException {
      return file.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return file.read(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }

  private record Output(String location, File file) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      if (file.exists()) {
        throw new AlreadyExistsException("File already exists: %s", location);
      }
      return createOrOverwrite();
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      file.getParentFile().mkdirs();
      try {
        return new CountingOutputStream(new BufferedOutputStream(new FileOutputStream(file), 1 << 16));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public InputFile toInputFile() {
      return new Input(location, file);
    }
  }
}
